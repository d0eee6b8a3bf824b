// SPDX-License-Identifier: Apache-2.0
// experiment_files.js - the submitted configuration and code.

import {get, post} from "../api.js";
import {lineColours} from "../code_colours.js";
import {fill, h} from "../dom.js";
import {numbered} from "../editor.js";
import {bytes, plural, time} from "../format.js";
import {readQuery, setQuery} from "../router.js";
import {button, copyButton, empty, errorBox, saveAs, spinner, toastError} from "../widgets.js";
import {toYaml, yamlLine} from "../yaml.js";

const SHOWN_MOST = 2 << 20; // shown bytes of a file

// ---- configuration ----

export function configurationTab(place, tools) {
    let which = readQuery().as === "written" ? "written" : "complete";
    let drawn = "";
    const textOf = () => which === "written" ? tools.state.experiment.originalConfig || "" : toYaml(tools.state.config);
    function draw() {
        const text = textOf();
        if (drawn === which + text) return;
        drawn = which + text;
        const choice = (name, label) => button(label, () => {
            which = name;
            setQuery({as: name === "written" ? name : null});
            draw();
            place.querySelector("[aria-pressed=true]")?.focus();
        }, {"aria-pressed": String(which === name)});
        fill(place, h("div", {class: "pile"},
            h("div", {class: "bar"}, h("div", {class: "bar", role: "group", "aria-label": "Version"}, choice("complete", "Complete"), choice("written", "As submitted")), h("span", {class: "grow"}), copyButton(textOf)),
            which === "written" ? h("p", {class: "dim"}, "The text as it was submitted, with its comments.") : h("p", {class: "dim"}, "The configuration in effect: the submitted text with all defaults filled in."),
            text ? numbered(text, yamlLine, "Configuration") : empty(h("p", "No text was submitted."))));
    }
    draw();
    return {updateExperiment: draw};
}

// ---- code ----

function bytesOf(base64) {
    const text = atob(base64);
    return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

// Returns null for binary data.  The last character of a cut file may be incomplete.
function textOf(data, isCut) {
    if (data.subarray(0, 8192).includes(0)) return null;
    try {
        return new TextDecoder("utf-8", {fatal: true}).decode(data, {stream: isCut});
    } catch {
        return null;
    }
}

const flat = (files) => files.flatMap((file) => file.isDir ? flat(file.files) : [file]);
const FIRST = [/(^|\/)readme(\.|$)/i, /\.ya?ml$/i, /model_def\.py$|train\.py$|main\.py$/i, /\.(py|sh|c|md|txt)$/i];

export function codeTab(place, tools) {
    const list = h("nav", {class: "file-list", "aria-label": "Files"});
    const view = h("div", {class: "file-view"});
    let chosen = readQuery().file || "";
    let order = 0;
    let isLeft = false; // another tab is open and owns the address

    async function show(file) {
        const mine = ++order;
        chosen = file.path;
        setQuery({file: file.path});
        mark();
        const wait = setTimeout(() => mine === order && fill(view, spinner()), 150);
        try {
            const {file: text64} = await post(`/api/v1/experiments/${tools.id}/file`, {path: file.path}, {signal: tools.signal});
            if (mine !== order) return;
            const data = bytesOf(text64);
            const text = textOf(data.subarray(0, SHOWN_MOST), data.length > SHOWN_MOST);
            fill(view, h("div", {class: "bar"}, h("h2", {class: "mono"}, file.path), h("span", {class: "dim"}, bytes(file.contentLength)), h("span", {class: "dim", title: "Modified"}, time(file.modifiedTime)), h("span", {class: "grow"}),
                text !== null && copyButton(() => text), button("Download", () => saveAs(file.name, new Blob([data])), {icon: "download"})),
            text === null ? empty(h("p", "This is not a text file.")) : text === "" ? empty(h("p", "The file is empty.")) : numbered(text, lineColours(file.path, text), file.path),
            data.length > SHOWN_MOST && h("p", {class: "dim"}, `Only the first ${bytes(SHOWN_MOST)} are shown.`));
        } catch (error) {
            if (mine === order && error.name !== "AbortError") fill(view, errorBox(error));
        } finally {
            clearTimeout(wait);
        }
    }

    function entry(file) {
        if (file.isDir) return h("li", h("details", {open: true}, h("summary", file.name + "/"), h("ul", file.files.map(entry))));
        return h("li", h("button", {type: "button", "data-path": file.path, onclick: () => void show(file)}, file.name));
    }
    function mark() {
        for (const one of list.querySelectorAll("[data-path]")) {
            if (one.dataset.path === chosen) one.setAttribute("aria-current", "true");
            else one.removeAttribute("aria-current");
        }
    }

    async function read() {
        const {files} = await get(`/api/v1/experiments/${tools.id}/file_tree`, null, {signal: tools.signal});
        const all = flat(files);
        if (isLeft) return;
        if (!all.length) return fill(place, empty(h("p", "The experiment was submitted without files.")));
        const download = async () => saveAs(`experiment-${tools.id}.tar.gz`, new Blob([bytesOf((await get(`/api/v1/experiments/${tools.id}/model_def`)).b64Tgz)]));
        fill(list, h("ul", files.map(entry)));
        fill(place, h("div", {class: "pile"}, h("div", {class: "bar"}, h("span", {class: "dim"}, `${plural(all.length, "file")}, ${bytes(all.reduce((sum, file) => sum + file.contentLength, 0))}`), h("span", {class: "grow"}),
            button("Download all", () => download().catch(toastError), {icon: "download"})), h("div", {class: "files"}, list, view)));
        const first = all.find((file) => file.path === chosen) || FIRST.map((pattern) => all.find((file) => pattern.test(file.path))).find(Boolean) || all[0];
        await show(first);
    }
    fill(place, spinner());
    tools.unlessDeleted(read).catch((error) => fill(place, errorBox(error)));
    return {destroy: () => isLeft = true};
}
