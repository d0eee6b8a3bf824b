// SPDX-License-Identifier: Apache-2.0
// code_colours.js - colours source text for reading, one line at a time.
//
//   numbered(text, lineColours("train.py", text), label)
//
// Colours are spans around text.  A language is a row of LANGUAGES: the names it has, and a function that returns a
// function from a line to nodes.  The returned function is called with all lines in order, since a text of Python may
// extend over several lines.

import {h} from "./dom.js";
import {yamlLine} from "./yaml.js";

const COLOURED_MOST = 300000; // characters of a text; each coloured word is an element
const LINE_MOST = 2000; // characters; longer lines are not coloured

const span = (kind, text) => h("span", {class: `y-${kind}`}, text);

// ---- Python ----

const WORDS = new Set(("and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise " +
    "return try while with yield").split(" "));
const CONSTANTS = new Set(["None", "True", "False", "Ellipsis", "NotImplemented", "self", "cls"]);
const PIECES = new RegExp([
    /(?<comment>#.*)/, /(?<long>[rbuf]{0,2}(?:"""|'''))/, /(?<text>[rbuf]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))/, /(?<mark>(?<=^\s*)@[\w.]+)/,
    /(?<number>(?<![\w.])(?:0[xob][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[-+]?\d+)?j?))/, /(?<word>[\p{L}_][\p{L}\p{N}_]*)/,
].map((one) => one.source).join("|"), "giu");

const endOf = (line, quote, from) => { // of a long text; -1: it goes on
    for (let i = from; i < line.length; i++) {
        if (line[i] === "\\") i++;
        else if (line.startsWith(quote, i)) return i + quote.length;
    }
    return -1;
};

function wordOf(text, before) {
    if (/(^|\s)(def|class)\s+$/.test(before)) return span("name", text);
    if (/\.\s*$/.test(before)) return text; // x.match
    return WORDS.has(text) ? span("key", text) : CONSTANTS.has(text) ? span("number", text) : text;
}

function pythonLines() {
    let quote = ""; // of the long text that the previous line left open
    return (line) => {
        const out = [];
        let at = 0;
        const put = (to, node = line.slice(at, to)) => {
            out.push(node);
            at = to;
        };
        const putLong = (from) => {
            const end = endOf(line, quote, from);
            const to = end < 0 ? line.length : end;
            if (end >= 0) quote = "";
            put(to, span("text", line.slice(at, to)));
        };
        if (quote) putLong(0);
        while (at < line.length) {
            PIECES.lastIndex = at;
            const found = quote ? null : PIECES.exec(line);
            if (!found) break;
            if (found.index > at) put(found.index);
            const {comment, long, text, mark, number, word} = found.groups;
            const to = at + found[0].length;
            if (long) {
                quote = long.slice(-3);
                putLong(to);
            } else if (word) put(to, wordOf(word, line.slice(0, at)));
            else put(to, span(comment ? "comment" : text ? "text" : mark ? "name" : number ? "number" : "", found[0]));
        }
        put(line.length);
        return out;
    };
}

// ---- languages ----

const LANGUAGES = [[/(^|\.)(py|pyi|python|python3)$/i, pythonLines], [/(^|\.)(ya?ml|json)$/i, () => yamlLine]];

// `name`: a path, or the name of a language.  Returns undefined if the text is not to be coloured.
export function lineColours(name, text) {
    const make = text.length <= COLOURED_MOST && LANGUAGES.find(([names]) => names.test(name))?.[1];
    if (!make) return undefined;
    const colour = make();
    return (line) => line.length > LINE_MOST ? line : colour(line);
}
