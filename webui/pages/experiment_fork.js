// SPDX-License-Identifier: Apache-2.0
// experiment_fork.js - a new experiment from an old one, and an old one that goes on.

import {get, post} from "../api.js";
import {configEditor} from "../editor.js";
import {fill, h} from "../dom.js";
import {stateName} from "../format.js";
import {go} from "../router.js";
import {session} from "../session.js";
import {button, confirm, dialog, errorBox, select, toast, toastError} from "../widgets.js";
import {toYaml} from "../yaml.js";

const drafts = new Map(); // what was written in dialogs that were left, until the page is loaded anew

// An editor in a dialog that takes up what the same person wrote when it was left.  `texts` are those that it offers, the first
// one first; `make({editor, note, close, send})` gives its body, in which send() is what the dialog is there for: it is waited for
// also by those who leave the dialog meanwhile.
async function editDialog(title, texts, options, make) {
    const key = [session.user?.id, title, texts[0]].join("\n"); // a trial's fork begins with another text
    const draft = drafts.get(key);
    const editor = configEditor({value: draft ?? texts[0], ...options});
    const note = draft !== undefined && h("p", {class: "bar draft"}, "This is what you wrote last time.", button("Start over", () => {
        editor.set(texts[0]);
        note.remove();
        editor.focus();
    }));
    let sent = null;
    const send = (call) => {
        sent = call;
        call.catch(() => sent = null); // the dialog tells
        return call;
    };
    const done = dialog(title, (close) => make({editor, note, close, send}), {wide: true});
    editor.focus();
    const reply = await done || await sent?.catch((error) => void toastError(error));
    if (reply || texts.includes(editor.text())) drafts.delete(key);
    else drafts.set(key, editor.text());
    return reply;
}

// The body of a dialog around an editor: `submit(text)` is called when there are no errors.
function form(editor, {before, after, label, submit}) {
    const problem = h("div");
    const send = h("button", {type: "submit", class: "button primary"}, label);
    const work = async (event) => {
        event?.preventDefault();
        if (send.disabled) return;
        send.disabled = true;
        try {
            const verdict = await editor.check();
            if (!verdict || verdict.errors) {
                editor.node.querySelector(".problems .place")?.focus();
                return;
            }
            await submit(editor.text());
        } catch (error) {
            fill(problem, errorBox(error));
        } finally {
            send.disabled = false;
        }
    };
    const node = h("form", {onsubmit: work}, before, editor.node, problem, h("footer", after, send));
    node.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void work(event);
    });
    return node;
}

// Each of two texts is kept while the other one is looked at.
function turnTo(editor, texts) {
    const now = {...texts};
    let which = "written";
    return (next) => {
        now[which] = editor.text();
        which = next;
        editor.set(now[next]);
    };
}

// Goes to the new experiment once there is one.
export async function forkDialog(experiment, config) {
    const texts = {written: experiment.originalConfig || toYaml(config), complete: toYaml(config)};
    const start = h("input", {type: "checkbox", checked: true, id: "fork-start"});
    const reply = await editDialog(`Fork experiment ${experiment.id}`, [texts.written, texts.complete], {label: "Configuration of the fork", rows: 18}, ({editor, note, close, send}) => form(editor, {
        label: "Create", after: button("Cancel", () => close()),
        before: [h("div", {class: "bar fork-head"}, h("p", "A new experiment with the same files. Change what is to be different; it is checked while you write."),
            experiment.originalConfig && select([["written", "As it was written"], ["complete", "With every default"]], "written", turnTo(editor, texts), {"aria-label": "Begin with"}),
            h("label", {class: "bar", for: "fork-start"}, start, "Start at once")), note],
        submit: async (text) => close(await send(post("/api/v1/experiments", {config: text, parentId: experiment.id, activate: start.checked}))),
    }));
    if (!reply) return;
    toast(`Created experiment ${reply.experiment.id}.`, "good");
    if (reply.warnings?.length) toast("It asks for more slots than there are now, and waits until there are.");
    go(`/experiments/${reply.experiment.id}`);
}

const HINT = `# Only what changes. Nothing here: it goes on as it was.
# searcher:
#   max_length: {batches: 2000}
`;

// A search that has run all of its trials has nothing left to go on with.
async function isComplete(experiment) {
    if (stateName(experiment.state) !== "COMPLETED") return false;
    const {pagination} = await get(`/api/v1/experiments/${experiment.id}/trials`, {limit: 1, states: ["STATE_ERROR", "STATE_CANCELED"]});
    return pagination.total === 0;
}

// True when it goes on.
export async function continueDialog(experiment, config) {
    const goOn = (text) => post("/api/v1/experiments/continue", {id: experiment.id, overrideConfig: text});
    if (experiment.searcherType !== "single") {
        if (await isComplete(experiment)) {
            if (await confirm(`Experiment ${experiment.id} is complete`, "Its search has run all of its trials to their end. A fork can search further.", "Fork")) await forkDialog(experiment, config);
            return false;
        }
        if (!await confirm(`Continue experiment ${experiment.id}?`, "The search goes on as it was: trials that did not complete go on from their last checkpoint.", "Continue")) return false;
        await goOn("");
        toast(`Experiment ${experiment.id} goes on.`, "good");
        return true;
    }
    const reply = await editDialog(`Continue experiment ${experiment.id}`, [HINT], {continues: experiment.id, label: "What changes", rows: 12}, ({editor, note, close, send}) => form(editor, {
        label: "Continue", after: button("Cancel", () => close()),
        before: [h("p", experiment.checkpointCount ? "Its trial goes on from its last checkpoint." : "It has saved no checkpoint: its trial begins again, and takes the place of what it did.", " Write down only what is to be different, for instance how long it trains."), note],
        submit: async (text) => close(await send(goOn(text))),
    }));
    if (!reply) return false;
    toast(`Experiment ${experiment.id} goes on.`, "good");
    return true;
}
