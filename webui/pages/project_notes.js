// SPDX-License-Identifier: Apache-2.0
// project_notes.js - the notes of a project: a list, each with a title and a text (markdown.js shows the text).

import {get, put} from "../api.js";
import {fill, h} from "../dom.js";
import {rendered} from "../markdown.js";
import {may} from "../rights.js";
import {ask, doing} from "../spaces.js";
import {loadStylesheet} from "../stylesheet.js";
import {button, confirm, empty} from "../widgets.js";

export async function showNotes(place, project, changed) {
    const address = `/api/v1/projects/${project.id}`;
    const mayWrite = may("UPDATE_PROJECT", {workspaceId: project.workspaceId}); // in mode basic: everybody

    // All notes are written at once, so they are read just before: another user may have added some.
    async function change(fn) {
        const {notes} = (await get(address)).project;
        const reply = await put(`${address}/notes`, {notes: fn(notes)});
        project = {...project, notes: reply.notes};
        draw();
        await changed();
    }
    const same = (a) => (b) => a.name === b.name && a.contents === b.contents;
    const form = (note, title) => ask(title, [["name", "Title", note.name, {required: true}], ["contents", "Text", note.contents, {isLong: true, hint: "Markdown: # for headings, - for lists, ** for bold, ` for code, [text](address) for links, | a | b | for tables"}]], "Save");

    const add = doing(async () => {
        const note = await form({name: "", contents: ""}, "New note");
        if (note) await change((notes) => [...notes, note]);
    });
    const edit = (old) => doing(async () => {
        const note = await form(old, "Edit note");
        if (note) await change((notes) => notes.some(same(old)) ? notes.map((one) => same(old)(one) ? note : one) : [...notes, note]);
    });
    const remove = (old) => doing(async () => {
        if (await confirm("Delete note?", old.name, "Delete", "danger")) await change((notes) => notes.filter((one) => !same(old)(one)));
    });

    function draw() {
        fill(place, mayWrite && h("div", {class: "bar"}, button("Add note", add, {icon: "plus", kind: "changes"})),
            project.notes.length ? project.notes.map((note) => h("section", {class: "card notes", "aria-label": note.name},
                h("div", {class: "bar"}, h("h2", note.name), h("span", {class: "grow"}), mayWrite && [button("Edit", edit(note), {icon: "edit", kind: "changes", "aria-label": `Edit ${note.name}`}), button("Delete", remove(note), {kind: "changes", "aria-label": `Delete ${note.name}`})]),
                h("div", {class: "prose"}, rendered(note.contents)))) : empty(h("p", "No notes yet.")));
    }
    await loadStylesheet(new URL("./experiment.css", import.meta.url));
    draw();
}
