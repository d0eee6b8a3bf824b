// SPDX-License-Identifier: Apache-2.0
// table.js - tables with sorting, selection and rows that open, by mouse and keyboard.
//
//   const table = dataTable({
//       label: "Experiments", columns: [{id: "name", label: "Name", cell: (row) => node or text, title: "…", sortable: true, isNumber: false, isQuiet: false}],
//       key: (row) => row.id, href: (row) => "/experiments/3", sort: "-id", onSort: (sort) => …,
//       selection: new Set(), onSelect: (set) => …,
//   });
//   table.node; table.rows(rows); table.columns(columns); table.sort("-id")
//
// Call rows() whenever the data changes: rows keep their place, focus and selection.  A cell whose text has changed is
// highlighted for a moment, unless its column is quiet.

import {fill, h} from "./dom.js";
import {number} from "./format.js";
import {BASE, go} from "./router.js";
import {button} from "./widgets.js";

const ROW_LEAST_PX = 30;
const MOVES = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1};

// A place for a table whose head stays visible.  While the table fits, its head sticks to the window; a wider table scrolls
// inside its place, with its head.
export function tablePlace(table, attributes) {
    const node = h("div", {...attributes, class: ["table-place", attributes?.class]}, table);
    const fit = new ResizeObserver(() => node.classList.toggle("fits", table.offsetWidth <= node.clientWidth));
    fit.observe(node);
    fit.observe(table);
    return node;
}

// "1–100 of 10 000" with two buttons, which call move(offset).
export function pager(offset, total, size, move) {
    if (total <= size) return null;
    return h("div", {class: "bar pager"}, h("span", {class: "dim num"}, `${number(offset + 1)}–${number(Math.min(offset + size, total))} of ${number(total)}`),
        button("Previous", () => move(Math.max(0, offset - size)), {icon: "left", disabled: offset <= 0}),
        button("Next", () => move(offset + size), {icon: "right", disabled: offset + size >= total}));
}

export function dataTable(options) {
    let {columns, sort = ""} = options;
    const {key = (row) => row.id, selection = null} = options;
    const head = h("thead");
    const body = h("tbody");
    const caption = h("caption", {class: "hidden"}, options.label);
    const node = tablePlace(h("table", {class: "data"}, caption, head, body), {role: "region", "aria-label": options.label, tabindex: -1});
    let shown = [];
    let last = null; // the start of a range selection

    const changed = () => {
        options.onSelect?.(selection);
        paintSelection();
    };

    function drawHead() {
        const all = selection && h("input", {type: "checkbox", class: "select-all", "aria-label": "Select all on this page", onchange: (event) => {
            for (const row of shown) event.target.checked ? selection.add(key(row)) : selection.delete(key(row));
            changed();
        }});
        fill(head, h("tr", selection && h("th", {class: "tick"}, all), columns.map((column) => {
            const isSorted = sort.replace("-", "") === column.id;
            const order = isSorted ? (sort.startsWith("-") ? "descending" : "ascending") : null;
            return h("th", {scope: "col", class: [column.isNumber && "num", column.class], title: column.title, "aria-sort": order},
                column.sortable ? h("button", {type: "button", onclick: () => {
                    sort = isSorted && !sort.startsWith("-") ? "-" + column.id : column.id;
                    drawHead();
                    head.querySelector(`[aria-sort] button`)?.focus();
                    options.onSort?.(sort);
                }}, column.label, h("span", {class: "arrow", "aria-hidden": "true"}, order ? (order === "ascending" ? "▲" : "▼") : "")) : column.label);
        })));
    }

    const selectRow = (row, isOn, isRange) => {
        const from = isRange && last !== null ? shown.findIndex((one) => key(one) === last) : -1;
        const to = shown.findIndex((one) => key(one) === key(row));
        const range = from < 0 ? [row] : shown.slice(Math.min(from, to), Math.max(from, to) + 1);
        for (const one of range) isOn ? selection.add(key(one)) : selection.delete(key(one));
        last = key(row);
        changed();
    };

    function openRow(row, event) {
        const address = options.href?.(row);
        if (!address) return options.onOpen?.(row);
        if (event.ctrlKey || event.metaKey || event.button === 1) window.open(BASE + address, "_blank");
        else go(address);
    }

    function cells(row) {
        const tick = selection && h("td", {class: "tick"}, h("input", {type: "checkbox", checked: selection.has(key(row)), "aria-label": `Select ${key(row)}`,
            onclick: (event) => selectRow(row, event.target.checked, event.shiftKey)}));
        return [tick, ...columns.map((column) => h("td", {class: [column.isNumber && "num", column.class]}, column.cell(row)))].filter(Boolean);
    }

    function makeRow(row) {
        const line = h("tr", {tabindex: 0, "data-key": key(row), class: (options.href || options.onOpen) && "opens"}, cells(row));
        line.row = row;
        return line;
    }
    body.addEventListener("click", (event) => {
        const line = event.target.closest("tr");
        if (!line || event.defaultPrevented || event.target.closest("a, button, input, label, .tick") || getSelection().toString()) return;
        openRow(line.row, event);
    });
    body.addEventListener("keydown", (event) => {
        const line = event.target;
        if (line.parentNode !== body) return;
        if (event.key === "Enter") openRow(line.row, event);
        else if (event.key === " " && selection) selectRow(line.row, !selection.has(key(line.row)), event.shiftKey);
        else if (MOVES[event.key]) (MOVES[event.key] > 0 ? line.nextElementSibling : line.previousElementSibling)?.focus();
        else return;
        event.preventDefault();
    });

    // Replaces only cells whose text or markup differs, to keep focus and text selections.
    function refresh(line, row) {
        line.row = row;
        cells(row).forEach((cell, i) => {
            const old = line.children[i];
            if (!old) line.append(cell);
            else if (old.innerHTML !== cell.innerHTML && !old.contains(document.activeElement)) {
                const isQuiet = columns[i - (selection ? 1 : 0)]?.isQuiet;
                if (old.textContent !== cell.textContent && !isQuiet) cell.classList.add("changed");
                old.replaceWith(cell);
            }
        });
        while (line.children.length > columns.length + (selection ? 1 : 0)) line.lastChild.remove();
    }

    function paintSelection() {
        if (!selection) return;
        for (const line of body.children) {
            const isOn = selection.has(key(line.row));
            line.classList.toggle("selected", isOn);
            line.firstChild.firstChild.checked = isOn;
        }
        const count = shown.filter((row) => selection.has(key(row))).length;
        const all = head.querySelector(".select-all");
        all.checked = count > 0 && count === shown.length;
        all.indeterminate = count > 0 && count < shown.length;
    }

    // For mostly new rows (another page, another search).  The rows that fit into the window are made at once; if the page
    // is scrolled to the top, the others follow a frame later.
    let later = 0;
    function replaceRows(list) {
        const most = scrollY > 0 ? list.length : Math.ceil(innerHeight / ROW_LEAST_PX);
        body.replaceChildren(...list.slice(0, most).map(makeRow));
        if (list.length <= most) return;
        later = requestAnimationFrame(() => later = requestAnimationFrame(() => {
            body.append(...list.slice(most).map(makeRow));
            paintSelection();
        }));
    }

    function rows(list) {
        const old = new Map([...body.children].map((line) => [String(line.row && key(line.row)), line]));
        shown = list;
        cancelAnimationFrame(later);
        const kept = list.filter((row) => old.has(String(key(row)))).length;
        if (kept * 2 <= list.length && !body.contains(document.activeElement)) replaceRows(list);
        else {
            list.forEach((row, i) => {
                let line = old.get(String(key(row)));
                if (line) {
                    old.delete(String(key(row)));
                    refresh(line, row);
                } else line = makeRow(row);
                if (body.children[i] !== line) body.insertBefore(line, body.children[i] || null);
            });
            for (const line of old.values()) line.remove();
        }
        paintSelection();
    }

    drawHead();
    return {
        node, rows, paintSelection,
        columns(list) {
            columns = list;
            drawHead();
            body.replaceChildren();
            rows(shown);
        },
        sort(text) {
            sort = text;
            drawHead();
        },
        focusFirst: () => body.firstElementChild?.focus(),
    };
}
