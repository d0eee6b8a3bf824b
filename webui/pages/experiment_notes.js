// SPDX-License-Identifier: Apache-2.0
// experiment_notes.js - the notes of an experiment.
//
// Notes are plain text, shown with a part of Markdown (markdown.js).
//
// Two writers at once: a save names the notes it replaces, and the master refuses it (409) if they have changed
// since.  If the change stream reports the change earlier, the page warns at once.

import {patch} from "../api.js";
import {fill, h} from "../dom.js";
import {number} from "../format.js";
import {rendered} from "../markdown.js";
import {rightsOnExperiment} from "../rights.js";
import {session} from "../session.js";
import {button, toast, toastError} from "../widgets.js";

const NOTES_MOST = 10000;

// ---- notes ----

const drafts = new Map(); // unsaved notes of a tab that was left: {base, text}

export function notesTab(place, tools) {
    const mine = `${session.user?.id} ${tools.id}`;
    let known = tools.state.experiment.notes || "";
    let open = null; // {base, area, warning, shownNotes} while the user edits

    const save = async () => {
        const {base, area} = open;
        if (area.value.length > NOTES_MOST) return toast(`Notes have at most ${number(NOTES_MOST)} characters; these have ${number(area.value.length)}.`, "bad");
        try {
            const reply = await patch(`/api/v1/experiments/${tools.id}`, {notes: area.value, notesBefore: base});
            known = reply.experiment.notes;
            tools.state.experiment.notes = known;
            open = null;
            draw();
            place.querySelector("button")?.focus();
            toast("Saved.", "good");
        } catch (error) {
            if (error.status !== 409) return toastError(error);
            await tools.reload();
            conflict();
            open?.warning.querySelector("button")?.focus(); // the user must choose first
        }
    };

    // Another user has changed the notes: shows their text and asks.  Drawn once per text, to keep focus and unfolded parts.
    function conflict() {
        const theirs = tools.state.experiment.notes || "";
        if (!open || theirs === open.base || theirs === open.shownNotes) return;
        open.shownNotes = theirs;
        fill(open.warning, h("div", {class: "conflict", role: "alert"}, h("p", h("strong", "Another user changed these notes while you were editing.")),
            h("details", h("summary", "Show their text"), h("pre", theirs)),
            h("div", {class: "bar"}, button("Keep mine", () => {
                open.base = theirs;
                fill(open.warning);
                open.area.focus();
            }), button("Use theirs", () => {
                open.base = theirs;
                open.area.value = theirs;
                open.area.dispatchEvent(new Event("input"));
                fill(open.warning);
                open.area.focus();
            }), button("Keep both", () => {
                open.base = theirs;
                open.area.value = `${open.area.value}\n\n${theirs}`;
                open.area.dispatchEvent(new Event("input"));
                fill(open.warning);
                open.area.focus();
            }))));
    }

    function edit(draft = {base: known, text: known}) {
        drafts.delete(mine);
        const count = h("span", {class: "dim num"});
        const drawCount = () => {
            const left = NOTES_MOST - area.value.length;
            fill(count, left < 0 ? `${number(-left)} too many` : `${number(area.value.length)} of ${number(NOTES_MOST)}`);
            count.classList.toggle("bad-text", left < 0);
        };
        const area = h("textarea", {rows: 16, value: draft.text, "aria-label": "Notes", oninput: () => drawCount()});
        const warning = h("div");
        open = {base: draft.base, area, warning, shownNotes: null};
        drawCount();
        fill(place, h("section", {class: "card notes"}, warning, area, h("p", {class: "dim"}, "Markdown: # for headings, - for lists, ** for bold, ` for code, [text](address) for links, | a | b | for tables."),
            h("div", {class: "bar"}, button("Save", () => void save(), {kind: "primary", title: "Ctrl-Enter"}), button("Cancel", () => {
                open = null;
                draw();
                place.querySelector("button")?.focus();
            }), count)));
        area.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
        });
        area.focus();
        conflict();
    }

    function draw() {
        fill(place, h("section", {class: "card notes"}, h("div", {class: "bar"}, h("h2", "Notes"), h("span", {class: "grow"}), rightsOnExperiment(tools.state.experiment).edit && button(known ? "Edit" : "Add notes", () => edit(), {icon: "edit", kind: "changes"})),
            known ? h("div", {class: "prose"}, rendered(known)) : h("p", {class: "dim"}, "No notes yet. Write down what you tried and what you found.")));
    }
    if (drafts.has(mine)) edit(drafts.get(mine));
    else draw();
    return {
        destroy() {
            if (open && open.area.value !== open.base) drafts.set(mine, {base: open.base, text: open.area.value});
        },
        updateExperiment({experiment}) {
            if (open) return conflict();
            if ((experiment.notes || "") === known) return;
            known = experiment.notes || "";
            draw();
        },
    };
}
