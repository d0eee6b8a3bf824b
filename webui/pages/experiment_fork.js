// SPDX-License-Identifier: Apache-2.0
// experiment_fork.js - the dialogs that fork or continue an experiment, and the form around their editor.

import {get, post} from "../api.js";
import {fill, h} from "../dom.js";
import {configEditor} from "../editor.js";
import {stateName} from "../format.js";
import {go} from "../router.js";
import {session} from "../session.js";
import {button, confirm, dialog, errorBox, select, toast, toastError} from "../widgets.js";
import {toYaml} from "../yaml.js";

const drafts = new Map(); // unsent texts of closed dialogs, until the page is reloaded

// An editor in a dialog.  It restores the draft that the same user left when closing it.  `texts` are the texts it offers, the
// first one initially.  `make({editor, note, close, send})` returns its body; send(call) marks the call that submits the text:
// its result counts even if the user closes the dialog before the reply.
async function editDialog(title, texts, options, make) {
    const key = [session.user?.id, title, texts[0]].join("\n"); // the fork of a trial starts from another text
    const draft = drafts.get(key);
    const editor = configEditor({value: draft ?? texts[0], ...options});
    const note = draft !== undefined && h("p", {class: "bar draft"}, "Your unsent draft was restored.", button("Discard draft", () => {
        editor.set(texts[0]);
        note.remove();
        editor.focus();
    }));
    let sent = null;
    const send = (call) => {
        sent = call;
        call.catch(() => sent = null); // the dialog shows the error
        return call;
    };
    const done = dialog(title, (close) => make({editor, note, close, send}), {wide: true});
    editor.focus();
    const reply = await done || await sent?.catch((error) => void toastError(error));
    if (reply || texts.includes(editor.text())) drafts.delete(key);
    else drafts.set(key, editor.text());
    return reply;
}

// A form around an editor: `submit(text)` is called when there are no errors.
export function configForm(editor, {before, after, label, submit}) {
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

// Switches between two texts and keeps the edits of both.
function textSwitch(editor, texts) {
    const now = {...texts};
    let which = "written";
    return (next) => {
        now[which] = editor.text();
        which = next;
        editor.set(now[next]);
    };
}

// Goes to the experiment that was created.
export function created({experiment, warnings}) {
    toast(`Created experiment ${experiment.id}.`, "good");
    if (warnings?.length) toast("It needs more slots than the cluster has now, and waits for them.");
    go(`/experiments/${experiment.id}`);
}

// The complete configuration has `profiling.enabled: false` as a default.  Written into a configuration it turns measuring
// off, so a copy leaves it out, unless `written` says something about it.
export function withoutUnsaid(config, written) {
    const {profiling, ...rest} = config;
    return profiling && profiling.enabled === false && !/\bprofiling\b/.test(written || "") ? rest : config;
}

// Creates a fork and goes to it.
export async function forkDialog(experiment, config) {
    const complete = toYaml(experiment.originalConfig ? withoutUnsaid(config, experiment.originalConfig) : config);
    const texts = {written: experiment.originalConfig || complete, complete};
    const start = h("input", {type: "checkbox", checked: true, id: "fork-start"});
    const reply = await editDialog(`Fork experiment ${experiment.id}`, [texts.written, texts.complete], {label: "Configuration of the fork", rows: 18}, ({editor, note, close, send}) => configForm(editor, {
        label: "Create", after: button("Cancel", () => close()),
        before: [h("div", {class: "bar fork-head"}, h("p", "Creates a new experiment with the same files. Edit the configuration; it is checked while you type."),
            experiment.originalConfig && select([["written", "As submitted"], ["complete", "With all defaults"]], "written", textSwitch(editor, texts), {"aria-label": "Start from"}),
            h("label", {class: "bar", for: "fork-start"}, start, "Start immediately")), note],
        // It is put beside its parent, unless the text names another place.
        submit: async (text) => close(await send(post("/api/v1/experiments", {config: text, parentId: experiment.id, activate: start.checked, projectId: /^project:/m.test(text) ? undefined : experiment.projectId}))),
    }));
    if (reply) created(reply);
}

const HINT = `# Only the keys to change. Leave this empty to continue unchanged.
# searcher:
#   max_length: {batches: 2000}
`;

// Whether a search has completed all of its trials, so nothing can be continued.
async function isComplete(experiment) {
    if (stateName(experiment.state) !== "COMPLETED") return false;
    const {pagination} = await get(`/api/v1/experiments/${experiment.id}/trials`, {limit: 1, states: ["STATE_ERROR", "STATE_CANCELED"]});
    return pagination.total === 0;
}

// Resolves with true if the experiment continues.
export async function continueDialog(experiment, config) {
    const continueWith = (text) => post("/api/v1/experiments/continue", {id: experiment.id, overrideConfig: text});
    if (experiment.searcherType !== "single") {
        if (await isComplete(experiment)) {
            if (await confirm(`Experiment ${experiment.id} is complete`, "Its search has completed all of its trials. Fork it to search further.", "Fork")) await forkDialog(experiment, config);
            return false;
        }
        if (!await confirm(`Continue experiment ${experiment.id}?`, "The search continues unchanged. Trials that did not complete continue from their last checkpoint.", "Continue")) return false;
        await continueWith("");
        toast(`Experiment ${experiment.id} continues.`, "good");
        return true;
    }
    const reply = await editDialog(`Continue experiment ${experiment.id}`, [HINT], {continues: experiment.id, label: "Configuration changes", rows: 12}, ({editor, note, close, send}) => configForm(editor, {
        label: "Continue", after: button("Cancel", () => close()),
        before: [h("p", experiment.checkpointCount ? "Its trial continues from its last checkpoint." : "It has no checkpoint: its trial starts from the beginning and replaces the earlier results.", " Enter only the keys to change, for example how long it trains."), note],
        submit: async (text) => close(await send(continueWith(text))),
    }));
    if (!reply) return false;
    toast(`Experiment ${experiment.id} continues.`, "good");
    return true;
}
