// SPDX-License-Identifier: Apache-2.0
// check_menu.js - a button that opens a list of checkboxes.
//
//   checkMenu("Labels", {options: async () => [{value, label, count}], chosen: () => ["a"], onChange: (values) => …})
//
// The options are read whenever the list opens.  A long list has a filter box.

import {fill, h} from "./dom.js";
import {number} from "./format.js";
import {button, errorSentence, freshId} from "./widgets.js";

const MANY = 12;

export function checkMenu(label, {options, chosen, onChange, footer, isQuiet = false}) {
    const id = freshId("filter");
    const count = h("span", {class: "count", hidden: true});
    const list = h("div", {class: "menu checks", popover: "auto", id, role: "dialog", "aria-label": label});
    const opener = button(label, () => {}, {icon: "down", "aria-haspopup": "dialog", popovertarget: id});
    opener.append(count);

    const boxes = () => [...list.querySelectorAll("label:not([hidden]) input")];
    const paint = () => {
        const many = chosen().length;
        count.textContent = number(many);
        count.hidden = isQuiet || !many;
    };
    function row({value, label: text, count: found}) {
        return h("label", {class: "check", "data-value": value}, h("input", {type: "checkbox", checked: chosen().includes(value), onchange: (event) => {
            const rest = chosen().filter((one) => one !== value);
            onChange(event.target.checked ? [...rest, value] : rest);
            paint();
        }}), h("span", {class: "grow cut"}, text === undefined ? value : text), found !== undefined && h("span", {class: "dim num"}, number(found)));
    }
    function filterBox(all) {
        return h("input", {type: "text", "aria-label": `Filter ${label.toLowerCase()}`, placeholder: "Filter …", oninput: (event) => {
            const text = event.target.value.toLowerCase();
            for (const node of list.querySelectorAll("label")) node.hidden = !node.textContent.toLowerCase().includes(text);
        }}, all.length);
    }
    function place() {
        const at = opener.getBoundingClientRect();
        list.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - list.offsetHeight - 8))}px`;
        list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - list.offsetWidth - 8))}px`;
    }
    async function draw() {
        let all;
        try {
            all = await options();
        } catch (error) {
            return fill(list, h("p", {class: "dim"}, errorSentence(error)));
        }
        const known = new Set(all.map((one) => one.value));
        all = [...all, ...chosen().filter((value) => !known.has(value)).map((value) => ({value}))];
        fill(list, all.length > MANY && filterBox(all), all.length ? h("div", {class: "scroll"}, all.map(row)) : h("p", {class: "dim"}, "None"),
            footer && footer(() => draw()));
        place();
        boxes()[0]?.focus();
    }
    list.addEventListener("toggle", (event) => {
        if (event.newState === "open") {
            addEventListener("resize", place);
            draw();
        } else removeEventListener("resize", place);
    });
    list.addEventListener("keydown", (event) => {
        const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
        if (!step) return;
        event.preventDefault();
        const all = boxes();
        all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
    });
    paint();
    return {node: h("span", {class: "menu-place"}, opener, list), paint, close: () => list.hidePopover()};
}
