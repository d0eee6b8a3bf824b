// SPDX-License-Identifier: Apache-2.0
// experiment_notes.js - what people write about an experiment, and where it came from.
//
// Notes are plain text, shown with a little of Markdown: headings, lists, code, **bold** and addresses.
// What is written becomes text nodes, whatever is in it.
//
// Two who write at once: a save says which notes it replaces, and the master refuses when they are
// others by now (409); and when the changes say so earlier, whoever writes is told at once.

import {get, patch} from "../api.js";
import {fill, h} from "../dom.js";
import {number} from "../format.js";
import {link} from "../router.js";
import {session} from "../session.js";
import {badge, button, errorBox, spinner, toast, toastError} from "../widgets.js";

const NOTES_MOST = 10000;

// ---- a little of Markdown ----

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|https?:\/\/[^\s<>"')\]]+)/;

function inline(text) {
    return text.split(INLINE).filter(Boolean).map((part) => {
        if (/^`[^`]+`$/.test(part)) return h("code", part.slice(1, -1));
        if (/^\*\*[^*]+\*\*$/.test(part)) return h("strong", part.slice(2, -2));
        if (/^https?:\/\//.test(part)) return h("a", {href: part, rel: "noopener noreferrer", target: "_blank"}, part);
        return part;
    });
}

export function rendered(text) {
    const out = [];
    const lines = text.split("\n");
    for (let i = 0; i < lines.length;) {
        const line = lines[i];
        const isItem = (one) => one !== undefined && /^\s*([-*]|\d+[.)])\s+/.test(one);
        if (/^```/.test(line)) {
            const end = lines.findIndex((one, k) => k > i && /^```/.test(one));
            const stop = end < 0 ? lines.length : end;
            out.push(h("pre", h("code", lines.slice(i + 1, stop).join("\n"))));
            i = stop + 1;
        } else if (/^#{1,4}\s/.test(line)) {
            out.push(h(`h${Math.min(line.match(/^#+/)[0].length + 1, 4)}`, inline(line.replace(/^#+\s+/, ""))));
            i++;
        } else if (isItem(line)) {
            const items = [];
            const isNumbered = /^\s*\d/.test(line);
            while (isItem(lines[i])) items.push(h("li", inline(lines[i++].replace(/^\s*([-*]|\d+[.)])\s+/, ""))));
            out.push(h(isNumbered ? "ol" : "ul", items));
        } else if (!line.trim()) i++;
        else {
            const part = [];
            while (i < lines.length && lines[i].trim() && !/^(```|#{1,4}\s)/.test(lines[i]) && !isItem(lines[i])) part.push(lines[i++]);
            out.push(h("p", part.flatMap((one, k) => [k ? h("br") : null, inline(one)])));
        }
    }
    return out;
}

// ---- notes ----

const drafts = new Map(); // what somebody wrote of an experiment and had not saved when its tab was left: {base, text}

export function notesTab(place, tools) {
    const mine = `${session.user?.id} ${tools.id}`;
    let known = tools.state.experiment.notes || "";
    let open = null; // {base, area, warning, told} while somebody writes

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
            open?.warning.querySelector("button")?.focus(); // one chooses first
        }
    };

    // Somebody else has written: theirs are shown, and one chooses; once, so that focus and what was unfolded stay.
    function conflict() {
        const theirs = tools.state.experiment.notes || "";
        if (!open || theirs === open.base || theirs === open.told) return;
        open.told = theirs;
        fill(open.warning, h("div", {class: "conflict", role: "alert"}, h("p", h("strong", "Somebody else has changed these notes meanwhile.")),
            h("details", h("summary", "Look at theirs"), h("pre", theirs)),
            h("div", {class: "bar"}, button("Keep mine", () => {
                open.base = theirs;
                fill(open.warning);
                open.area.focus();
            }), button("Take theirs", () => {
                open.base = theirs;
                open.area.value = theirs;
                open.area.dispatchEvent(new Event("input"));
                fill(open.warning);
                open.area.focus();
            }), button("Put theirs below mine", () => {
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
        const tell = () => {
            const left = NOTES_MOST - area.value.length;
            fill(count, left < 0 ? `${number(-left)} too many` : `${number(area.value.length)} of ${number(NOTES_MOST)}`);
            count.classList.toggle("bad-text", left < 0);
        };
        const area = h("textarea", {rows: 16, value: draft.text, "aria-label": "Notes", oninput: () => tell()});
        const warning = h("div");
        open = {base: draft.base, area, warning, told: null};
        tell();
        fill(place, h("section", {class: "card notes"}, warning, area, h("p", {class: "dim"}, "Headings with #, lists with -, code in `…`; everything else stays as it is."),
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
        fill(place, h("section", {class: "card notes"}, h("div", {class: "bar"}, h("h2", "Notes"), h("span", {class: "grow"}), button(known ? "Edit" : "Write", () => edit(), {icon: "edit", kind: "changes"})),
            known ? h("div", {class: "prose"}, rendered(known)) : h("p", {class: "dim"}, "Nothing is written down yet: what was tried, and what came of it.")));
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

// ---- lineage ----

function kin(one, extra) {
    if (one.isGone) return h("div", {class: "kin gone"}, h("span", {class: "num"}, `Experiment ${one.id}`), h("span", {class: "dim"}, "deleted"));
    return h("div", {class: ["kin", extra]}, link(`/experiments/${one.id}`, {"aria-current": extra === "self" ? "true" : null}, h("span", {class: "num"}, one.id), " ", one.name), badge(one.state));
}

const start = (one) => h("div", {class: "kin start"}, h("span", "checkpoint ", h("code", {title: one.uuid}, one.uuid.slice(0, 8))),
    one.isGone ? h("span", {class: "dim"}, "not known any more") : h("span", {class: "dim"}, "of ", link(`/trials/${one.trialId}`, {}, `trial ${one.trialId}`), ` after ${number(one.steps)} steps`, one.state !== "COMPLETED" && `, ${one.state.toLowerCase()} by now`));

export function lineageTab(place, tools) {
    async function read() {
        const {ancestors, forks, checkpoints} = await get(`/api/v1/det/experiments/${tools.id}/lineage`, null, {signal: tools.signal});
        const self = {...tools.state.experiment, isGone: false};
        const isAlone = !ancestors.length && !forks.length && !checkpoints.length;
        fill(place, h("section", {class: "card"}, h("h2", "Where it came from, and what came from it"),
            h("div", {class: "tree"},
                h("ol", {class: "line", "aria-label": "Ancestors, the first on top"}, [...ancestors].reverse().map((one) => h("li", kin(one))),
                    checkpoints.map((one) => h("li", {class: "side"}, start(one))), h("li", {class: "here"}, kin(self, "self"),
                        forks.length > 0 && h("ol", {class: "branches", "aria-label": "Forks"}, forks.map((one) => h("li", kin(one))))))),
            isAlone && h("p", {class: "dim"}, "It was made from a file, and nothing was forked from it yet. Continuing an experiment does not make a new one: its trial goes on, and its runs are told apart in the trial’s charts and logs.")));
    }
    fill(place, spinner());
    tools.careful(read).catch((error) => fill(place, errorBox(error)));
    return {updateExperiment: () => void tools.careful(read).catch(() => {})};
}
