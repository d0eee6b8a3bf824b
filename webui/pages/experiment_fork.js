// SPDX-License-Identifier: Apache-2.0
// experiment_fork.js - a new experiment from an old one, and an old one that goes on.

import {post} from "../api.js";
import {configEditor} from "../editor.js";
import {fill, h} from "../dom.js";
import {go} from "../router.js";
import {button, confirm, dialog, errorBox, select, toast} from "../widgets.js";
import {toYaml} from "../yaml.js";

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

// Goes to the new experiment once there is one.
export async function forkDialog(experiment, config) {
    const texts = {written: experiment.originalConfig || toYaml(config), complete: toYaml(config)};
    const start = h("input", {type: "checkbox", checked: true, id: "fork-start"});
    const done = dialog(`Fork experiment ${experiment.id}`, (close) => {
        const editor = configEditor({value: texts.written, label: "Configuration of the fork", rows: 18});
        return form(editor, {
            label: "Create", after: button("Cancel", () => close()),
            before: h("div", {class: "bar fork-head"}, h("p", "A new experiment with the same files. Change what is to be different; it is checked while you write."),
                experiment.originalConfig && select([["written", "As it was written"], ["complete", "With every default"]], "written", (value) => editor.set(texts[value]), {"aria-label": "Begin with"}),
                h("label", {class: "bar", for: "fork-start"}, start, "Start at once")),
            submit: async (text) => {
                const reply = await post("/api/v1/experiments", {config: text, parentId: experiment.id, activate: start.checked});
                close(reply);
            },
        });
    }, {wide: true});
    document.querySelector("dialog textarea.code")?.focus();
    const reply = await done;
    if (!reply) return;
    toast(`Created experiment ${reply.experiment.id}.`, "good");
    if (reply.warnings?.length) toast("It asks for more slots than there are now, and waits until there are.");
    go(`/experiments/${reply.experiment.id}`);
}

const HINT = `# Only what changes. Nothing here: it goes on as it was.
# searcher:
#   max_length: {batches: 2000}
`;

// True when it goes on.
export async function continueDialog(experiment) {
    const send = (text) => post("/api/v1/experiments/continue", {id: experiment.id, overrideConfig: text});
    if (experiment.searcherType !== "single") {
        if (!await confirm(`Continue experiment ${experiment.id}?`, "The search goes on as it was: trials that did not complete go on from their last checkpoint.", "Continue")) return false;
        await send("");
        toast(`Experiment ${experiment.id} goes on.`, "good");
        return true;
    }
    const done = dialog(`Continue experiment ${experiment.id}`, (close) => {
        const editor = configEditor({value: HINT, continues: experiment.id, label: "What changes", rows: 12});
        return form(editor, {
            label: "Continue", after: button("Cancel", () => close()),
            before: h("p", "Its trial goes on from its last checkpoint. Write down only what is to be different, for instance how long it trains."),
            submit: async (text) => {
                await send(text);
                close(true);
            },
        });
    }, {wide: true});
    document.querySelector("dialog textarea.code")?.focus();
    if (await done !== true) return false;
    toast(`Experiment ${experiment.id} goes on.`, "good");
    return true;
}
