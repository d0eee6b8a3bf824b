// SPDX-License-Identifier: Apache-2.0
// logtext.js - how a log line is shown: terminal colours and search marks.
//
// A line becomes runs, [{text, kind, isHit}], and runs become text nodes, so program output never becomes markup.  Colours
// are the sixteen named terminal colours, as classes; other escape sequences are removed.  A line that a program has
// overwritten with carriage returns (a progress bar) shows its last version, as in a terminal.

import {h} from "./dom.js";

const ESCAPES = /\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b\[[0-9;:?<=>!]*[ -/]*[@-~]?|\x1b[()#%*+\-./ ].?|\x1b./g;
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/g;
const COLOURS = ["", "red", "green", "yellow", "blue", "magenta", "cyan", ""];

// The named colour with the nearest hue; "" for greys.
function nearestColour(r, g, b) {
    const most = Math.max(r, g, b), least = Math.min(r, g, b);
    if (most - least < 50) return "";
    const is = (value) => value > (most + least) / 2;
    return COLOURS[(is(r) ? 1 : 0) + (is(g) ? 2 : 0) + (is(b) ? 4 : 0)];
}

function paletteColour(code) { // 38;5;N
    if (code < 16) return code === 8 ? "faint" : COLOURS[code % 8];
    if (code >= 232) return "";
    const at = code - 16, level = (n) => n ? 55 + 40 * n : 0;
    return nearestColour(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

// Applies the codes of one "ESC [ ... m" to `style`.
function applyCodes(style, text) {
    const codes = (text || "0").split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i++) {
        const code = codes[i];
        if (code === 0) Object.assign(style, {colour: "", bold: false, faint: false, italic: false, under: false});
        else if (code === 1) style.bold = true;
        else if (code === 2) style.faint = true;
        else if (code === 3) style.italic = true;
        else if (code === 4) style.under = true;
        else if (code === 22) style.bold = style.faint = false;
        else if (code === 23) style.italic = false;
        else if (code === 24) style.under = false;
        else if (code >= 30 && code <= 37) style.colour = COLOURS[code - 30];
        else if (code >= 90 && code <= 97) style.colour = paletteColour(code - 82);
        else if (code === 39) style.colour = "";
        else if (code === 38 || code === 48) {
            const isFront = code === 38, kind = codes[i + 1];
            const colour = kind === 5 ? paletteColour(codes[i + 2] || 0) : kind === 2 ? nearestColour(codes[i + 2] || 0, codes[i + 3] || 0, codes[i + 4] || 0) : "";
            if (isFront) style.colour = colour;
            i += kind === 5 ? 2 : kind === 2 ? 4 : 1;
        }
    }
}

const kindOf = (style) => [style.colour && "c-" + style.colour, style.bold && "c-bold", style.faint && "c-faint", style.italic && "c-italic", style.under && "c-under"].filter(Boolean).join(" ");
const visible = (text) => text.replace(CONTROLS, (c) => c === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)));

// The text that a terminal would show at the end.
function lastVersion(text) {
    const whole = text.replace(/\r+$/, "");
    return whole.slice(whole.lastIndexOf("\r") + 1);
}

export function runsOf(raw) {
    const text = lastVersion(raw);
    if (!text.includes("\x1b")) return text ? [{text: visible(text), kind: ""}] : [];
    const style = {}, runs = [];
    let at = 0;
    const put = (upto) => upto > at && runs.push({text: visible(text.slice(at, upto)), kind: kindOf(style)});
    for (const found of text.matchAll(ESCAPES)) {
        put(found.index);
        at = found.index + found[0].length;
        if (found[1] !== undefined) applyCodes(style, found[1]);
    }
    put(text.length);
    return runs;
}

export const plain = (raw) => runsOf(raw).map((run) => run.text).join("");

// ---- search ----

const CLASSES = {alpha: "a-zA-Z", digit: "0-9", alnum: "a-zA-Z0-9", upper: "A-Z", lower: "a-z", xdigit: "0-9a-fA-F", space: "\\s", blank: " \\t", punct: "!-\\/:-@\\[-`{-~", word: "\\w"};

// The master decides which lines match; this only marks the matching text.  An expression that could keep the browser busy
// for long gets no marker (null): then only the line is marked.
export function marker({text, isRegex, isExact}) {
    if (!text) return null;
    let source = text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
    if (isRegex) {
        if (/\)[*+{]/.test(text) || (text.match(/[*+]|\{\d*,\d*\}/g) || []).length > 2) return null;
        source = text.replace(/\[:(\w+):\]/g, (all, name) => CLASSES[name] ?? all).replace(/\\[<>]/g, "\\b");
    }
    try {
        return new RegExp(source, isExact ? "g" : "gi");
    } catch {
        return null;
    }
}

const MOST_MARKS = 100;

function findMarks(text, mark) {
    const found = [];
    mark.lastIndex = 0;
    for (let hit; found.length < MOST_MARKS && (hit = mark.exec(text));) {
        if (hit[0]) found.push([hit.index, hit.index + hit[0].length]);
        else mark.lastIndex++;
    }
    return found;
}

// Splits runs where marks begin and end.
export function marked(runs, mark) {
    if (!mark) return runs;
    const at = findMarks(runs.map((run) => run.text).join(""), mark);
    if (!at.length) return runs;
    const out = [];
    let start = 0, next = 0;
    for (const run of runs) {
        const end = start + run.text.length;
        let from = start;
        while (from < end) {
            while (next < at.length && at[next][1] <= from) next++;
            const hit = at[next];
            const isHit = Boolean(hit) && hit[0] <= from;
            const upto = Math.min(end, hit ? (isHit ? hit[1] : hit[0]) : end);
            out.push({text: run.text.slice(from - start, upto - start), kind: run.kind, isHit});
            from = upto;
        }
        start = end;
    }
    return out;
}

const nodesOf = (runs) => runs.map(({text, kind, isHit}) => isHit ? h("mark", {class: kind}, text) : kind ? h("span", {class: kind}, text) : text);

export const textNodes = (raw, mark) => nodesOf(marked(runsOf(raw), mark));

// Whether the line has a marked part.
export const isMarked = (raw, mark) => Boolean(mark) && findMarks(plain(raw), mark).length > 0;

// The text around the first hit: at most `before` characters before it; an ellipsis marks omitted text.
export function hitNodes(raw, mark, {before, most, isCut = false}) {
    const runs = marked(runsOf(raw), mark);
    const hit = runs.findIndex((run) => run.isHit);
    let skip = Math.max(0, runs.slice(0, Math.max(0, hit)).reduce((sum, run) => sum + run.text.length, 0) - before);
    let left = most;
    const out = skip || isCut ? [{text: "…", kind: ""}] : [];
    for (const run of runs) {
        const text = run.text.slice(skip, skip + left);
        skip = Math.max(0, skip - run.text.length);
        left -= text.length;
        if (text) out.push({...run, text});
    }
    return nodesOf(out);
}

// ---- lines and times ----

const pad = (n, size = 2) => String(n).padStart(size, "0");
export const clock = (iso) => {
    const at = new Date(iso);
    return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`;
};

// "1234" is a line; "14:30" and "14:30:05" are times on the day of `near`; "2026-11-15 14:30" is a date and time.
export function placeOf(text, near) {
    const words = text.trim().replace(/[\u202f,_]/g, "");
    if (/^\d{1,15}$/.test(words)) return {line: Number(words)};
    if (/^(first|start|top)$/i.test(words)) return {line: 1};
    if (/^(last|end)$/i.test(words)) return {isEnd: true};
    const day = words.match(/^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$/);
    if (!day && !/^\d{4}-\d\d/.test(words)) return null;
    const date = day ? new Date(near || Date.now()) : new Date(words.includes("T") ? words : words.replace(/^(\d{4}-\d\d-\d\d)$/, "$1T00:00").replace(/^(\d{4}-\d\d-\d\d)\s+/, "$1T"));
    if (day) date.setHours(Number(day[1]), Number(day[2]), Math.floor(day[3] || 0), Math.round((day[3] || 0) % 1 * 1000));
    return Number.isNaN(date.getTime()) ? null : {time: date.toISOString()};
}
