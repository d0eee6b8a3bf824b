// SPDX-License-Identifier: Apache-2.0
// checkpoint_files.js - the files of a checkpoint as a tree, with a look at texts, JSON and pictures.
//
// The tree is made of the paths and sizes that were reported.  A file comes from the master when somebody looks at it;
// markup comes as plain text.

import {queryText, text} from "../api.js";
import {fill, h} from "../dom.js";
import {bytes, number} from "../format.js";
import {loadStylesheet} from "../stylesheet.js";
import {button, errorBox, icon, spinner} from "../widgets.js";

const TEXT_MOST = 1 << 20;
const PICTURE_MOST = 32 << 20;
const FILES_MOST = 2000;
const PICTURE = /\.(png|jpe?g|gif|webp)$/i;
const TEXT = /\.(json|txt|md|ya?ml|toml|ini|py|sh|csv|tsv|log|html|svg|xml|pbtxt)$/i;

const isShown = (name, size) => PICTURE.test(name) ? size <= PICTURE_MOST : TEXT.test(name) && size <= TEXT_MOST;
const addressOf = (uuid, path) => `/api/v1/det/checkpoints/${uuid}/file${queryText({path})}`;

// [["a/b", 5], ["c", 1]] -> {folders: Map(a -> {files: [["b", "a/b", 5]]}), files: [["c", "c", 1]], size: 6}
function treeOf(files) {
    const fresh = () => ({folders: new Map(), files: [], size: 0});
    const root = fresh();
    for (const [path, size] of files) {
        const parts = path.split("/");
        let node = root;
        node.size += size;
        for (const part of parts.slice(0, -1)) {
            if (!node.folders.has(part)) node.folders.set(part, fresh());
            node = node.folders.get(part);
            node.size += size;
        }
        node.files.push([parts.at(-1), path, size]);
    }
    return root;
}

async function look(place, uuid, path) {
    fill(place, h("h4", path), spinner());
    try {
        if (PICTURE.test(path)) return fill(place, h("h4", path), h("img", {src: addressOf(uuid, path), alt: path}));
        const all = await text(addressOf(uuid, path), {});
        let shown = all;
        if (/\.json$/i.test(path)) {
            try {
                shown = JSON.stringify(JSON.parse(all), null, 2);
            } catch { /* shown as it is */ }
        }
        fill(place, h("h4", path), h("pre", {tabindex: 0, "aria-label": path}, shown));
    } catch (error) {
        fill(place, h("h4", path), errorBox(error));
    }
    return place;
}

// `isWhole`: the files are still there.
export function checkpointFiles(uuid, files, isWhole) {
    void loadStylesheet(new URL("checkpoint_files.css", import.meta.url));
    const view = h("div", {class: "checkpoint-file", "aria-live": "polite"});
    const show = (path) => void look(view, uuid, path).then((place) => place.scrollIntoView({block: "nearest"}));
    const branch = (node, path) => h("ul",
        [...node.folders].sort(([a], [b]) => a < b ? -1 : 1).map(([name, folder]) => h("li", h("details",
            h("summary", h("span", `${path}${name}/`), h("span", {class: "num dim"}, bytes(folder.size))), branch(folder, `${path}${name}/`)))),
        node.files.sort(([a], [b]) => a < b ? -1 : 1).map(([name, whole, size]) => h("li", {class: "file-row"}, h("span", {class: "file-name"}, name), h("span", {class: "num dim"}, bytes(size)),
            isWhole && isShown(name, size) && button("Show", () => show(whole), {"aria-label": `Show ${whole}`}),
            isWhole && h("a", {class: "button", href: addressOf(uuid, whole), download: name, "aria-label": `Download ${whole}`}, icon("download")))));
    const sorted = files.map(([name, size]) => [name, Number(size)]);
    return [h("h3", "Files"), h("div", {class: "file-tree", tabindex: 0, role: "group", "aria-label": "Files"}, branch(treeOf(sorted.slice(0, FILES_MOST)), "")),
        sorted.length > FILES_MOST && h("p", {class: "dim"}, `The first ${number(FILES_MOST)} of ${number(sorted.length)} files are listed; download the checkpoint for all of them.`), view];
}
