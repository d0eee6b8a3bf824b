// SPDX-License-Identifier: Apache-2.0
// yaml.js - writes a configuration as YAML, and colours YAML text.
//
// Colours are spans around text, one line at a time.  Nothing here parses YAML: the master does (POST /api/v1/det/check).

import {h} from "./dom.js";

const PLAIN = /^[A-Za-z_./][\w ./@+-]*$/;
const WORDS = /^(true|false|yes|no|on|off|y|n|null|none|nan|inf|~)$/i;

function scalar(value) {
    if (value === null || value === undefined) return "null";
    if (typeof value !== "string") return JSON.stringify(value);
    if (PLAIN.test(value) && !WORDS.test(value) && value === value.trim()) return value;
    return JSON.stringify(value);
}

const isEmpty = (value) => typeof value === "object" && value !== null && Object.keys(value).length === 0;

function write(value, indent, out) {
    const pad = " ".repeat(indent);
    for (const [key, one] of Array.isArray(value) ? value.map((item) => [null, item]) : Object.entries(value)) {
        const head = key === null ? `${pad}- ` : `${pad}${scalar(key)}: `;
        if (typeof one !== "object" || one === null) out.push(head + scalar(one));
        else if (isEmpty(one)) out.push(head + (Array.isArray(one) ? "[]" : "{}"));
        else if (key === null && !Array.isArray(one)) { // "- a: 1" on one line
            const inner = [];
            write(one, indent + 2, inner);
            out.push(head + inner[0].trimStart(), ...inner.slice(1));
        } else {
            out.push(head.trimEnd());
            write(one, Array.isArray(one) && key !== null ? indent : indent + 2, out);
        }
    }
}

// Keys in the order of the tree.
export function toYaml(tree) {
    if (typeof tree !== "object" || tree === null || isEmpty(tree)) return scalar(tree) + "\n";
    const out = [];
    write(tree, 0, out);
    return out.join("\n") + "\n";
}

// ---- colours ----

const VALUE = /^(true|false|yes|no|on|off|null|~|[-+]?(\d[\d_]*)?\.?\d+([eE][-+]?\d+)?)$/i;
const KEY = /^(\s*(?:- +)*)((?:"[^"]*"|'[^']*'|[^\s#:{}[\],"'][^#:]*?))(:)(?=\s|$)/;

// The index of a comment outside quotes; the length of the line if it has none.
function commentAt(text) {
    let quote = "";
    for (let i = 0; i < text.length; i++) {
        const c = text[i];
        if (quote) quote = c === quote ? "" : quote;
        else if (c === '"' || c === "'") quote = c;
        else if (c === "#" && (!i || /\s/.test(text[i - 1]))) return i;
    }
    return text.length;
}

const span = (kind, text) => text && h("span", {class: `y-${kind}`}, text);

function valueParts(text) {
    return text.split(/("(?:[^"\\]|\\.)*"|'[^']*'|[\s,[\]{}]+)/).filter(Boolean).map((part) => {
        if (/^["']/.test(part)) return span("text", part);
        return VALUE.test(part) ? span("number", part) : part;
    });
}

// One line of YAML as nodes.
export function yamlLine(text) {
    const at = commentAt(text);
    const code = text.slice(0, at);
    const key = KEY.exec(code);
    const rest = key ? code.slice(key[0].length) : code;
    return [key && [key[1], span("key", key[2]), key[3]], valueParts(rest), span("comment", text.slice(at))];
}
