// SPDX-License-Identifier: Apache-2.0
// markdown.js - shows text that people write, in a part of Markdown.
//
// Blocks: headings, lists (also inside lists), tables, quotes, code between ``` lines, rules.  Inside a line: `code`,
// **bold**, *italic*, [links](address) and plain addresses.  Everything else is text; HTML stays text, too.
//
// All nodes are made with h(), so no text becomes markup.  The only attribute that takes text from the writer is href:
// addressOf() allows http, https and relative addresses, as the browser itself understands them.  Pictures become links:
// a page does not load anything because somebody wrote a note.

import {lineColours} from "./code_colours.js";
import {h} from "./dom.js";

const DEPTH_MOST = 8; // of lists and quotes inside each other

// ---- inside a line ----

const INLINE = new RegExp([
    /\\(?<escaped>[\\`*_{}[\]()#+\-.!|<>~])/, /`(?<code>[^`\n]+)`/, /\*\*(?<bold>[^\s*](?:[^*\n]*[^\s*])?)\*\*/,
    /(?<![\w*])\*(?<star>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])/, /(?<![\w_])_(?<line>[^\s_](?:[^_\n]*[^\s_])?)_(?![\w_])/,
    /!?\[(?<label>[^[\]\n]*)\]\((?<to>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"\n]*")?\)/, /<?(?<plain>https?:\/\/[^\s<>"'`\]]+)>?/,
].map((one) => one.source).join("|"), "gu");

// Null if the address is of another kind, such as javascript: or data:.
function addressOf(text) {
    try {
        const url = new URL(text, location.href);
        return ["http:", "https:"].includes(url.protocol) ? url : null;
    } catch {
        return null;
    }
}

function anchor(url, label) {
    const isOutside = url.origin !== location.origin;
    return h("a", {href: url.href, rel: "noopener noreferrer", target: isOutside ? "_blank" : null}, label);
}

// A bracket or a full stop after an address belongs to the sentence.
function splitAddress(text) {
    let end = text.length;
    while (/[.,;:!?*]/.test(text[end - 1]) || (text[end - 1] === ")" && text.slice(0, end).split("(").length < text.slice(0, end).split(")").length)) end--;
    return [text.slice(0, end), text.slice(end)];
}

function inline(text, mayLink = true) {
    const out = [];
    let at = 0;
    for (const found of text.matchAll(INLINE)) {
        const {escaped, code, bold, star, line, label, to, plain} = found.groups;
        out.push(text.slice(at, found.index));
        at = found.index + found[0].length;
        const url = mayLink && (to || plain) ? addressOf(to || splitAddress(plain)[0]) : null;
        if (escaped !== undefined) out.push(escaped);
        else if (code !== undefined) out.push(h("code", code));
        else if (bold !== undefined) out.push(h("strong", inline(bold, mayLink)));
        else if (star !== undefined || line !== undefined) out.push(h("em", inline(star ?? line, mayLink)));
        else if (!url) out.push(found[0]);
        else if (to) out.push(anchor(url, inline(label || to, false)));
        else {
            const [address, rest] = splitAddress(plain);
            out.push(found[0].startsWith("<") && !found[0].endsWith(">") ? "<" : "", anchor(url, address), rest);
        }
    }
    out.push(text.slice(at));
    return out;
}

// ---- tables ----

const RULE_CELL = /^:?-+:?$/;

// Splits at "|", but not in code and not after a backslash.
function cellsOf(line) {
    const cells = [""];
    for (const [piece] of line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").matchAll(/`[^`]*`|\\[^]|[^]/gu)) {
        if (piece === "|") cells.push("");
        else cells[cells.length - 1] += piece === "\\|" ? "|" : piece;
    }
    return cells.map((one) => one.trim());
}

function isTable(lines, i) {
    if (!lines[i].includes("|") || !lines[i + 1]?.includes("-")) return false;
    const rules = cellsOf(lines[i + 1]);
    return rules.every((one) => RULE_CELL.test(one)) && rules.length === cellsOf(lines[i]).length;
}

function table(lines, i) {
    const names = cellsOf(lines[i]);
    const aligns = cellsOf(lines[i + 1]).map((one) => /^:-*:$/.test(one) ? "center" : one.endsWith(":") ? "right" : null);
    const rows = [];
    let end = i + 2;
    for (; end < lines.length && lines[end].includes("|"); end++) rows.push(cellsOf(lines[end]));
    const cell = (tag, text, k) => h(tag, {scope: tag === "th" ? "col" : null, style: aligns[k] ? {textAlign: aligns[k]} : null}, inline(text ?? ""));
    return [h("div", {class: "prose-table", tabindex: 0, role: "region", "aria-label": "Table"}, h("table", h("thead", h("tr", names.map((one, k) => cell("th", one, k)))),
        h("tbody", rows.map((row) => h("tr", names.map((_, k) => cell("td", row[k], k))))))), end];
}

// ---- lists ----

const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const isItem = (line) => ITEM.test(line) && !RULE.test(line);
const indentOf = (line) => line.length - line.trimStart().length;

// An item has its line and the lines that are indented more than its mark.
function list(lines, i, depth) {
    const [, {length: indent}, mark] = ITEM.exec(lines[i]);
    const isNumbered = /\d/.test(mark);
    const items = [];
    while (i < lines.length && isItem(lines[i]) && Math.abs(indentOf(lines[i]) - indent) < 2 && /\d/.test(ITEM.exec(lines[i])[2]) === isNumbered) {
        const inner = [ITEM.exec(lines[i])[4]];
        for (i++; i < lines.length && (lines[i].trim() ? indentOf(lines[i]) > indent + 1 : lines[i + 1]?.trim() && indentOf(lines[i + 1]) > indent + 1); i++) inner.push(lines[i]);
        const space = Math.min(...inner.slice(1).filter((one) => one.trim()).map(indentOf));
        const [first, ...rest] = blocks([inner[0], ...inner.slice(1).map((one) => one.slice(space))], depth + 1);
        items.push(h("li", first?.tagName === "P" ? [...first.childNodes] : first, rest));
    }
    return [h(isNumbered ? "ol" : "ul", {start: isNumbered && parseInt(mark, 10) !== 1 ? parseInt(mark, 10) : null}, items), i];
}

// ---- blocks ----

function code(lines, i) {
    const [, fence, name] = FENCE.exec(lines[i]);
    const end = lines.findIndex((one, k) => k > i && one.trim().startsWith(fence));
    const stop = end < 0 ? lines.length : end;
    const text = lines.slice(i + 1, stop).join("\n");
    const colour = lineColours(name, text) || ((one) => one);
    return [h("pre", {tabindex: 0}, h("code", text.split("\n").map((one, k) => [k ? "\n" : "", colour(one)]))), stop + 1];
}

const FENCE = /^ {0,3}(```+|~~~+) *([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/s; // the marks behind it are cut off in code: a pattern for them could take very long
const QUOTE = /^ {0,3}> ?/;
const isBlock = (lines, i) => FENCE.test(lines[i]) || HEADING.test(lines[i]) || QUOTE.test(lines[i]) || RULE.test(lines[i]) || isItem(lines[i]) || isTable(lines, i);

// Each line of a paragraph stays a line.
function paragraph(lines, i) {
    const part = [];
    do part.push(lines[i++]); while (i < lines.length && lines[i].trim() && !isBlock(lines, i));
    return [h("p", part.map((one, k) => [k ? h("br") : null, inline(one.trim())])), i];
}

function quote(lines, i, depth) {
    let end = i;
    while (end < lines.length && QUOTE.test(lines[end])) end++;
    return [h("blockquote", blocks(lines.slice(i, end).map((one) => one.replace(QUOTE, "")), depth + 1)), end];
}

function cutMarks(text) { // "Title ##" is "Title"
    let end = text.length;
    while (text[end - 1] === "#") end--;
    return text.slice(0, end).trimEnd();
}

function block(lines, i, depth) {
    const heading = HEADING.exec(lines[i]);
    if (FENCE.test(lines[i])) return code(lines, i);
    if (heading) return [h(`h${Math.min(heading[1].length + 1, 4)}`, inline(cutMarks(heading[2].trim()))), i + 1];
    if (RULE.test(lines[i])) return [h("hr"), i + 1];
    if (QUOTE.test(lines[i]) && depth < DEPTH_MOST) return quote(lines, i, depth);
    if (isItem(lines[i]) && depth < DEPTH_MOST) return list(lines, i, depth);
    return isTable(lines, i) ? table(lines, i) : paragraph(lines, i);
}

function blocks(lines, depth) {
    const out = [];
    for (let i = 0; i < lines.length;) {
        if (!lines[i].trim()) {
            i++;
            continue;
        }
        const [node, next] = block(lines, i, depth);
        out.push(node);
        i = next;
    }
    return out;
}

// Nodes for the text.
export const rendered = (text) => blocks(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"), 0);
