// SPDX-License-Identifier: Apache-2.0
// experiment_new.js - creates an experiment or a search: files, a project and a configuration.
//
// What the user has written and chosen stays until the page is reloaded or the experiment is created.

import {post} from "../api.js";
import {fill, h} from "../dom.js";
import {configEditor} from "../editor.js";
import {bytes, plural} from "../format.js";
import {link, readQuery, setQuery} from "../router.js";
import {maySomewhere, whyNot} from "../rights.js";
import {mayChange, session} from "../session.js";
import {openProjects} from "../spaces.js";
import {loadStylesheet} from "../stylesheet.js";
import {button, empty, field, select, toastError} from "../widgets.js";
import {LIMIT_BYTES, chosenFiles, droppedFiles, encodeFiles, selectFiles} from "../upload.js";
import {configForm, created} from "./experiment_fork.js";

const CONFIG_MOST = 1 << 20; // bytes of a configuration file
const LISTED_MOST = 500; // names in the list of files
const NAMED_MOST = 3; // files that a sentence names

const COMMON = `# The command that trains. It runs in a copy of your files and reports metrics.
entrypoint: python3 train.py
`;
const TEMPLATES = {
    single: `name: my experiment
${COMMON}
hyperparameters:
  learning_rate: 0.001
  batch_size: 64

# One run. The metric is one that your program reports.
searcher:
  name: single
  metric: validation_loss
  smaller_is_better: true

resources:
  slots_per_trial: 1
max_restarts: 0
`,
    search: `name: my search
${COMMON}
# What the search varies, and in which range.
hyperparameters:
  learning_rate: {type: log, base: 10, minval: -4, maxval: -1}
  batch_size: {type: categorical, vals: [32, 64, 128]}

# Ten trials with random values, two at a time. Other searches: grid, adaptive_asha.
searcher:
  name: random
  metric: validation_loss
  smaller_is_better: true
  max_trials: 10
  max_concurrent_trials: 2

resources:
  slots_per_trial: 1
max_restarts: 0
`,
};

let draft = null; // {user, text, from, texts, chosen}

// ---- files ----

function filesCard(changed) {
    const summary = h("div", {role: "status"});
    const node = h("section", {class: "card drop", "aria-label": "Files"});
    let chosen = [];
    let state = {files: [], leftOut: {ignored: 0, runs: 0}, bytes: 0};

    const picker = (label, attributes, isFolder) => {
        const input = h("input", {type: "file", class: "hidden", tabindex: -1, "aria-label": label, multiple: true, ...attributes, onchange: () => {
            void set(chosenFiles(input.files), isFolder).catch(toastError);
            input.value = ""; // the same folder may be chosen again
        }});
        return [input, button(`${label} …`, () => input.click(), {"aria-label": label})];
    };
    const largest = () => [...state.files].sort((a, b) => b.file.size - a.file.size).slice(0, NAMED_MOST).map(({path, file}) => `${path} (${bytes(file.size)})`).join(", ");
    function leftOutText({ignored, runs}) {
        const parts = [ignored && `${plural(ignored, "file")} named by .detignore or in .git`, runs && `${plural(runs, "file")} of offline runs`].filter(Boolean);
        return parts.length ? ` Left out: ${parts.join("; ")}.` : "";
    }
    function draw() {
        const {files, leftOut} = state;
        if (!chosen.length) return fill(summary, h("p", {class: "dim"}, "The folder with your program; its .detignore is respected. Drop it here, or choose it. Without files, the entrypoint must be a program that the agents have."));
        fill(summary, h("p", h("strong", `${plural(files.length, "file")}, ${bytes(state.bytes)}.`), leftOutText(leftOut), " ", button("Remove", () => void set([], true).then(() => node.querySelector("button").focus()), {kind: "small", "aria-label": "Remove all files"})),
            state.bytes > LIMIT_BYTES && h("p", {class: "error", role: "alert"}, `The files are too large to send: the limit is ${LIMIT_BYTES >> 20} MB. List files that are not needed in .detignore, and choose the folder again; the largest are ${largest()}.`),
            h("details", h("summary", "Show the files"), h("ul", {class: "mono plain-list"}, files.slice(0, LISTED_MOST).map(({path}) => h("li", path))), files.length > LISTED_MOST && h("p", {class: "dim"}, `And ${files.length - LISTED_MOST} more.`)));
    }
    // A folder replaces what was chosen; single files are added to it.
    async function set(list, replaces) {
        const next = new Map(replaces ? [] : chosen.map((one) => [one.path, one]));
        for (const one of list) next.set(one.path, one);
        const now = [...next.values()];
        state = await selectFiles(now);
        chosen = now;
        draw();
        changed(state);
    }
    node.addEventListener("dragover", (event) => {
        event.preventDefault();
        node.classList.add("over");
    });
    node.addEventListener("dragleave", () => node.classList.remove("over"));
    node.addEventListener("drop", (event) => {
        event.preventDefault();
        node.classList.remove("over");
        void droppedFiles(event.dataTransfer).then(({files, isFolder}) => set(files, isFolder)).catch(toastError);
    });
    fill(node, h("div", {class: "bar"}, h("h2", "Files"), h("span", {class: "grow"}), picker("Choose a folder", {webkitdirectory: true}, true), picker("Add files", {}, false)), summary);
    draw();
    return {node, set, state: () => state, chosen: () => chosen};
}

// ---- what the configuration says about the files ----

// Words of the entrypoint that look like files of the folder, and are not among them.
function missingPrograms(text, files) {
    const command = /^entrypoint:(.*)$/m.exec(text)?.[1].replace(/\s#.*$/, "") || "";
    const known = new Set(files.map(({path}) => path));
    return command.split(/[\s,"'[\]]+/).filter((word) => /^(\.\/)?[\w.-][\w./-]*$/.test(word) && (word.startsWith("./") || /\.(py|sh)$/.test(word)) && !known.has(word.replace(/^\.\//, "")));
}

const REQUIREMENTS = "requirements.txt";
const lacksRequirements = (text, files) => files.some(({path}) => path === REQUIREMENTS) && !/^\s*(- )?["']?(requirements|python)["']?\s*:/m.test(text) && !/[{,]\s*(requirements|python)\s*:/.test(text);

function addRequirements(text) {
    const line = `  requirements: ${REQUIREMENTS}\n`;
    if (/^environment:[ \t]*(#.*)?$/m.test(text)) return text.replace(/^(environment:[ \t]*(?:#.*)?)$\n?/m, `$1\n${line}`);
    return `${text.replace(/\n*$/, "\n")}environment:\n${line}`;
}

// ---- the page ----

export async function page({root, title, signal, onLeave}) {
    title("New experiment");
    if (!maySomewhere("CREATE_EXPERIMENT")) {
        return fill(root, h("h1", "New experiment"), empty(h("p", mayChange() ? whyNot(false) : "Nothing can be created here: these are local runs, read-only."), h("p", link("/experiments", {}, "All experiments"))));
    }
    const [projects] = await Promise.all([openProjects({signal}), loadStylesheet(new URL("./experiment.css", import.meta.url))]);
    if (!projects.length) return fill(root, h("h1", "New experiment"), empty(h("p", "There is no project that takes experiments. Create one in a workspace first."), h("p", link("/workspaces", {}, "Workspaces"))));

    const kept = draft?.user === session.user?.id ? draft : null;
    const asked = readQuery();
    let project = (projects.find((one) => String(one.id) === asked.project) || projects.find((one) => one.id === 1) || projects[0]).id;
    let from = kept?.from || (asked.as === "search" ? "search" : "single");
    const texts = kept?.texts || {...TEMPLATES}; // by what they start from, with the user's changes
    const originals = {...TEMPLATES};
    let isDone = false;

    const notices = h("ul", {class: "problems", "aria-label": "Notices about the files"});
    const place = select(projects.map((one) => [String(one.id), `${one.workspaceName} / ${one.name}`]), String(project), (value) => {
        project = Number(value);
        setQuery({project: value});
    });
    const placeHint = h("small", {class: "dim"});
    const start = select([], from, (value) => void useText(value).catch(toastError));
    const editor = configEditor({value: kept?.text ?? texts[from], label: "Configuration", rows: 22, onChecked: drawNotices});
    const files = filesCard((state) => void filesChanged(state).catch(toastError));
    const isTouched = () => editor.text() !== originals[from];

    const configsOf = ({files: list}) => list.filter(({path, file}) => /^[^/]+\.ya?ml$/i.test(path) && file.size <= CONFIG_MOST);
    function drawStart() {
        fill(start, h("option", {value: "single"}, "A single run"), h("option", {value: "search"}, "A search"), configsOf(files.state()).map(({path}) => h("option", {value: `file:${path}`}, `${path} of the folder`)));
        start.value = from;
    }
    async function useText(name) {
        texts[from] = editor.text();
        from = name;
        const found = configsOf(files.state()).find(({path}) => `file:${path}` === name);
        if (found) originals[name] ??= await found.file.text();
        editor.set(texts[name] ?? originals[name]);
        drawStart();
    }
    // A folder that has a configuration brings it along, unless the user has written something.
    async function filesChanged(state) {
        const wasTouched = isTouched();
        for (const known of [originals, texts]) for (const name of Object.keys(known)) if (name.startsWith("file:")) delete known[name];
        const configs = configsOf(state);
        const wasFile = from.startsWith("file:");
        const same = wasFile && configs.find(({path}) => `file:${path}` === from);
        const best = configs.find(({path}) => /^const\.ya?ml$/i.test(path)) || configs[0];
        if (wasFile && !same) {
            texts.single = editor.text();
            from = "single";
        } else if (same) { // another folder, or the same one read again
            originals[from] = await same.file.text();
            if (!wasTouched) editor.set(originals[from]);
        } else if (best && !wasTouched) await useText(`file:${best.path}`);
        drawStart();
        drawNotices();
    }
    function drawNotices() {
        const text = editor.text();
        const {files: list} = files.state();
        const missing = missingPrograms(text, list);
        const names = /^(project|workspace):/m.test(text);
        place.disabled = names;
        fill(placeHint, names && "The configuration names the project.");
        fill(notices, missing.length > 0 && h("li", {class: "notice"}, `The entrypoint names ${missing.map((one) => `'${one}'`).join(" and ")}, which ${missing.length > 1 ? "are" : "is"} not among the files.`),
            lacksRequirements(text, list) && h("li", {class: "notice"}, `The files have a ${REQUIREMENTS}, but the configuration does not use it. `, button("Use it", () => {
                editor.set(addRequirements(editor.text()));
                drawNotices();
                editor.area.focus();
            }, {kind: "small", "aria-label": `Use ${REQUIREMENTS}`})));
    }

    const isStarted = h("input", {type: "checkbox", checked: true, id: "new-start"});
    const progress = h("span", {class: "dim", role: "status"});
    async function submit(text) {
        const {files: list, bytes: all} = files.state();
        if (all > LIMIT_BYTES) throw new Error(`the files are too large to send: ${bytes(all)}; the limit is ${LIMIT_BYTES >> 20} MB`);
        try {
            const modelDefinition = await encodeFiles(list, (done) => fill(progress, `Reading files … ${Math.floor(100 * done / (all || 1))} %`));
            fill(progress, all > 0 && "Sending …");
            const reply = await post("/api/v1/experiments", {config: text, modelDefinition, activate: isStarted.checked, projectId: place.disabled ? undefined : project}, {signal});
            isDone = true;
            draft = null;
            created(reply);
        } finally {
            fill(progress);
        }
    }

    drawStart();
    fill(root, h("h1", "New experiment"), h("p", {class: "dim"}, "A program with its files, and a configuration that says how to run it: once, or as a search over hyperparameters. ",
        h("a", {href: "/docs/experiment-configuration.html"}, "All keys of the configuration"), "."),
    files.node, h("section", {class: "card", "aria-label": "Configuration"}, configForm(editor, {
        label: "Create", before: [h("div", {class: "bar new-head"}, h("h2", "Configuration"), h("span", {class: "grow"}), field("Start from", start), h("div", {class: "field-with-hint"}, field("Project", place), placeHint)),
            kept && h("p", {class: "bar draft"}, "Your unsent draft was restored.", button("Discard draft", (event) => {
                event.target.closest(".draft").remove();
                Object.assign(texts, TEMPLATES);
                from = "single";
                editor.set(TEMPLATES.single);
                void files.set([], true).then(() => editor.focus());
            }))],
        after: [notices, h("span", {class: "grow"}), progress, h("label", {class: "bar", for: "new-start"}, isStarted, "Start immediately")], submit,
    })));
    onLeave(() => {
        if (isDone) return;
        texts[from] = editor.text();
        const isUnchanged = !files.chosen().length && !isTouched();
        draft = isUnchanged ? null : {user: session.user?.id, text: editor.text(), from, texts, chosen: files.chosen()};
    });
    if (kept) await files.set(kept.chosen, true).catch(toastError); // a file may have changed since
}
