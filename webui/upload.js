// SPDX-License-Identifier: Apache-2.0
// upload.js - files that a user chooses in the browser, as the files of an experiment.
//
//   const chosen = chosenFiles(input.files) or await droppedFiles(event.dataTransfer);   [{path, file}, …]
//   const {files, leftOut, bytes} = await selectFiles(chosen);
//   post(…, {modelDefinition: await encodeFiles(files, onProgress)})
//
// The rules are those of the command line (src/cli/create/pack.h): .git, files that .detignore names and folders of
// offline runs are not sent, and the limit is the same.  A browser does not tell the permissions of a file, so a program
// is recognised by its first bytes; it does not tell empty folders at all.

import {ignoreRules} from "./ignore.js";

export const LIMIT_BYTES = 96 << 20;
const IGNORE = ".detignore";
const LOCK = "run.lock"; // in the folder of an offline run
const TYPE_FILE = 48, TYPE_FOLDER = 53; // as in a tar file
const MODE_FILE = 0o100644, MODE_PROGRAM = 0o100755, MODE_FOLDER = 0o40755;
const PROGRAM = /^(Iy[E-H]|f0VMR)/; // "#!" or ELF, in base64

// ---- choosing ----

// Of a folder, its contents; of single files, these.
export const chosenFiles = (list) => [...list].map((file) => ({path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file}));

async function walk(entry, path, found) {
    if (entry.isFile) {
        found.push({path, file: await new Promise((done, failed) => entry.file(done, failed))});
        return;
    }
    const reader = entry.createReader();
    for (;;) { // it returns a part of the folder each time
        const part = await new Promise((done, failed) => reader.readEntries(done, failed));
        if (!part.length) return;
        for (const one of part) await walk(one, path ? `${path}/${one.name}` : one.name, found);
    }
}

// A folder that is dropped alone is the folder of the experiment.
export async function droppedFiles(transfer) {
    const entries = [...transfer.items].map((one) => one.webkitGetAsEntry?.()).filter(Boolean); // both before the first await
    const plain = [...transfer.files];
    const isFolder = entries.length === 1 && entries[0].isDirectory;
    const files = [];
    for (const entry of entries) await walk(entry, isFolder ? "" : entry.name, files);
    return {files: entries.length ? files : chosenFiles(plain), isFolder};
}

// ---- selecting ----

// "a/b/c.py" -> ["a", "a/b"]
const foldersOf = (path) => path.split("/").slice(0, -1).map((_, i, all) => all.slice(0, i + 1).join("/"));

// {files: [{path, file}], leftOut: {ignored, runs}, bytes}
export async function selectFiles(chosen) {
    const list = chosen.find(({path}) => path === IGNORE);
    const isIgnored = ignoreRules(list ? await list.file.text() : "");
    const runs = new Set(chosen.filter(({path}) => path.endsWith(`/${LOCK}`)).map(({path}) => path.slice(0, -LOCK.length - 1)));
    const known = new Map(); // folder -> why it is left out, or ""
    const whyNot = (path, isFolder) => path.split("/").pop() === ".git" || isIgnored(path, isFolder) ? "ignored" : isFolder && runs.has(path) ? "runs" : "";
    const whyFolder = (path) => {
        if (!known.has(path)) known.set(path, whyNot(path, true));
        return known.get(path);
    };
    const leftOut = {ignored: 0, runs: 0};
    const files = chosen.filter(({path}) => {
        const why = foldersOf(path).map(whyFolder).find(Boolean) || whyNot(path, false);
        if (why) leftOut[why]++;
        return !why;
    }).sort((a, b) => a.path < b.path ? -1 : 1);
    return {files, leftOut, bytes: files.reduce((sum, {file}) => sum + file.size, 0)};
}

// ---- sending ----

function base64Of({path, file}) {
    return new Promise((done, failed) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
        reader.onerror = () => failed(new Error(`'${path}' cannot be read: it was changed or removed since you chose it; choose the files again`));
        reader.readAsDataURL(file);
    });
}

// The list of files for the body of a call; onProgress(bytes) after each.
export async function encodeFiles(files, onProgress = () => {}) {
    const folders = new Set(files.flatMap(({path}) => foldersOf(path)));
    const now = String(Math.floor(Date.now() / 1000));
    const out = [...folders].sort().map((path) => ({path, type: TYPE_FOLDER, mtime: now, mode: MODE_FOLDER, content: ""}));
    let done = 0;
    for (const one of files) {
        const content = one.file.size ? await base64Of(one) : "";
        out.push({path: one.path, type: TYPE_FILE, mtime: String(Math.floor(one.file.lastModified / 1000)), mode: PROGRAM.test(content) ? MODE_PROGRAM : MODE_FILE, content});
        onProgress(done += one.file.size);
    }
    return out;
}
