// SPDX-License-Identifier: Apache-2.0
// query_line.js - a line for queries such as `val_loss < 0.3 and lr >= 1e-3 and label:baseline`, with completion.
//
//   const line = queryLine({label: "Query", value: "", columns: async () => [{name, kind, count}], values: async (column) => ["a", …],
//       onQuery: (text) => …});
//   line.node; line.set(text); line.fail("column 'lrr' at character 1: …"); line.fail("")
//
// The master understands and checks the query (src/model/table_query.h); this file only knows enough of its form to say what
// may come next.  A query is applied with Enter or when the field is left, not while it is typed.

import {fill, h} from "./dom.js";
import {plural} from "./format.js";
import {freshId} from "./widgets.js";

const MOST = 12; // suggestions
const FORMS = {number: "number", text: "text", seconds: "duration, as in 1h30m", time: "time, as in 2026-01-31", size: "size, as in 2GiB", any: "number or text"};
const OPERATORS = {text: [[":", "is"], ["!=", "is not"], ["~", "contains"], ["!~", "does not contain"]], number: [["<", "less"], ["<=", "at most"], [">", "more"], [">=", "at least"], ["=", "equals"], ["!=", "is not"]]};
const SPECIAL = /[\s()<>=!~:,"']/;

export const isCell = (name) => /^(hp|validation)\../.test(name);
export const shortName = (name) => name.replace(/^(hp|validation)\./, "");
export const quoted = (text) => text === "" || SPECIAL.test(text) || /^(and|or|not|none)$/i.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : text;

// The part of the query before the caret: what is expected there, and the word that was begun.
export function contextAt(text, caret) {
    const before = text.slice(0, caret);
    let expect = "column";
    let column = "";
    let at = 0;
    for (;;) {
        at += /^\s*/.exec(before.slice(at))[0].length;
        const rest = before.slice(at);
        if (!rest) return {expect, column, from: at, word: ""};
        const token = (/^"(\\.|[^"\\])*"?|^'(\\.|[^'\\])*'?/.exec(rest) || (expect === "value" ? /^(,|[^\s(),]+|[()])/ : /^(!=|!~|<=|>=|==|[<>=~:(),!]|[^\s()<>=!~:,"']+)/).exec(rest))[0];
        const plain = /^["']/.test(token) ? token.slice(1).replace(/["']$/, "").replace(/\\(.)/g, "$1") : token;
        if (at + token.length >= before.length && /[^()<>=~:,!]/.test(token)) return {expect, column, from: at, word: plain};
        at += token.length;
        if (expect === "column") {
            if (token === "(" || /^not$/i.test(token)) continue;
            column = plain;
            expect = "operator";
        } else if (expect === "operator" && /^[<>=~:!]/.test(token)) expect = "value";
        else if (expect === "value") expect = token === "," ? "value" : "joint";
        else if (token === ",") expect = "value";
        else expect = token === ")" ? "joint" : "column";
    }
}

// Columns by the names that people type: without their prefix where that is clear.
export function typedColumns(columns) {
    const short = new Map();
    const fixed = new Set(columns.filter((one) => !isCell(one.name)).map((one) => one.name.toLowerCase()));
    for (const one of columns) if (isCell(one.name)) short.set(shortName(one.name), (short.get(shortName(one.name)) || 0) + 1);
    return columns.map((one) => {
        const name = shortName(one.name);
        return {...one, typed: isCell(one.name) && short.get(name) === 1 && !fixed.has(name.toLowerCase()) ? name : one.name};
    });
}

const ranked = (list, word) => {
    const text = word.toLowerCase();
    const rank = (one) => one.label.toLowerCase().startsWith(text) ? 0 : 1;
    return list.filter((one) => one.label.toLowerCase().includes(text)).sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
};

export function queryLine({label, value = "", columns, values, onQuery}) {
    const listId = freshId("query-list");
    const errorId = freshId("query-error");
    let applied = value;
    let offers = [];
    let active = -1;
    let chosenAt; // the text for which `active` was chosen
    let asked = 0;

    const list = h("div", {class: "query-list", id: listId, role: "listbox", "aria-label": "Suggestions", hidden: true});
    const problem = h("p", {class: "query-error", id: errorId, role: "alert", hidden: true});
    const input = h("input", {type: "text", class: "query", role: "combobox", "aria-label": label, "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": listId,
        placeholder: "Query, as in val_loss < 0.3 and lr >= 1e-3 and label:baseline", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: 4096, value,
        oninput: () => void suggest(), onclick: () => void suggest(), onkeydown: onKey, onblur: () => {
            close();
            apply();
        }});
    const node = h("div", {class: "query-line"}, input, list, problem);

    function close() {
        asked++;
        list.hidden = true;
        active = -1;
        input.setAttribute("aria-expanded", "false");
        input.removeAttribute("aria-activedescendant");
    }
    function apply() {
        const text = input.value.trim();
        if (text === applied) return;
        applied = text;
        onQuery(text);
    }

    // ---- suggestions

    const kindOf = async (name) => typedColumns(await columns()).find((one) => one.typed === name || one.name === name)?.kind || "any";
    async function offersFor({expect, column, word}) {
        if (expect === "column") return ranked(typedColumns(await columns()).map((one) => ({label: one.typed, text: quoted(one.typed) + " ", hint: FORMS[one.kind] + (one.count === undefined ? "" : ` · ${plural(one.count, "experiment")}`)})), word);
        if (expect === "joint") return ranked(["and", "or"].map((one) => ({label: one, text: one + " "})), word);
        if (expect === "value") return ranked((await values(column)).map((one) => ({label: String(one), text: quoted(String(one)) + " "})), word);
        return (await kindOf(column) === "text" ? OPERATORS.text : OPERATORS.number).map(([text, hint]) => ({label: text, text: text === ":" ? text : text + " ", hint}));
    }
    async function suggest() {
        const mine = ++asked;
        const context = contextAt(input.value, input.selectionStart);
        let found = [];
        try {
            found = await offersFor(context);
        } catch { /* the line works without suggestions */ }
        if (mine !== asked || document.activeElement !== input) return;
        const chosen = chosenAt === input.value ? offers[active]?.label : undefined; // from an older list, while this one was on its way
        offers = found.filter((one) => one.label !== context.word || found.length > 1);
        active = -1;
        fill(list, offers.map((one, i) => h("div", {role: "option", id: `${listId}-${i}`, "aria-selected": "false", onmousedown: (event) => {
            event.preventDefault(); // the field keeps the focus
            accept(one);
        }}, h("span", {class: "grow cut"}, one.label), one.hint && h("span", {class: "dim"}, one.hint))));
        list.hidden = !offers.length;
        input.setAttribute("aria-expanded", String(!list.hidden));
        input.removeAttribute("aria-activedescendant");
        const again = offers.findIndex((one) => one.label === chosen);
        if (again >= 0) mark(again + 1);
    }
    function accept(offer) {
        active = -1;
        const {from} = contextAt(input.value, input.selectionStart);
        const rest = input.value.slice(input.selectionStart).replace(/^\s+/, "");
        input.value = input.value.slice(0, from) + offer.text + rest;
        const caret = from + offer.text.length;
        input.setSelectionRange(caret, caret);
        void suggest();
    }
    function mark(step) {
        chosenAt = input.value;
        list.children[active]?.setAttribute("aria-selected", "false");
        active = (active + step + offers.length + (active < 0 && step < 0 ? 1 : 0)) % offers.length;
        list.children[active].setAttribute("aria-selected", "true");
        list.children[active].scrollIntoView({block: "nearest"});
        input.setAttribute("aria-activedescendant", list.children[active].id);
    }

    function onKey(event) {
        const isOpen = !list.hidden;
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            if (isOpen) mark(event.key === "ArrowDown" ? 1 : -1);
            else void suggest();
        } else if (event.key === "Enter") {
            if (isOpen && active >= 0) accept(offers[active]);
            else {
                close();
                apply();
            }
        } else if (event.key === "Tab" && isOpen && active >= 0 && !event.shiftKey) accept(offers[active]);
        else if (event.key === "Escape" && isOpen) {
            close();
            event.stopPropagation();
        } else return;
        event.preventDefault();
    }

    return {
        node, input,
        set(text) {
            applied = text;
            input.value = text;
            this.fail("");
        },
        fail(text) {
            problem.textContent = text;
            problem.hidden = !text;
            if (text) {
                input.setAttribute("aria-invalid", "true");
                input.setAttribute("aria-describedby", errorId);
            } else {
                input.removeAttribute("aria-invalid");
                input.removeAttribute("aria-describedby");
            }
        },
    };
}
