// SPDX-License-Identifier: Apache-2.0
// chart_legend.js - one legend for all charts of a page.
//
//   const legend = pageLegend({onHide: (keys) => …, onPoint: (key) => …});
//   legend.node; legend.lines([{key, label, colour, dash}]); legend.mark(key); legend.hidden
//
// A click shows or hides a line in all charts, with Shift only that line.  Pointing at a name highlights its line.

import {lineSwatch} from "./chart.js";
import {fill, h} from "./dom.js";
import {number} from "./format.js";
import {button} from "./widgets.js";

const MANY = 12; // more lines than this: the others on request

export function pageLegend({onHide, onPoint}) {
    const hidden = new Set();
    const node = h("div", {class: "chart-legend page-legend", role: "group", "aria-label": "Legend"});
    let list = [];
    let isExpanded = false;

    function toggle(key, isOnly) {
        if (isOnly) {
            const wasOnly = hidden.size === list.length - 1 && !hidden.has(key);
            hidden.clear();
            if (!wasOnly) for (const one of list) if (one.key !== key) hidden.add(one.key);
        } else if (!hidden.delete(key)) hidden.add(key);
        draw(key);
        onHide(hidden);
    }

    function draw(focused) {
        const cut = isExpanded ? list : list.slice(0, MANY);
        const more = () => {
            isExpanded = !isExpanded;
            draw();
        };
        fill(node, cut.map(({key, label, colour, dash}) => h("button", {type: "button", class: "chart-key", "data-key": key, "aria-pressed": String(!hidden.has(key)), title: "Click to show or hide; Shift-click to show only this line",
            onclick: (event) => toggle(key, event.shiftKey), onmouseenter: () => onPoint(key), onmouseleave: () => onPoint(null)},
            lineSwatch(colour, dash), h("span", {class: "chart-name"}, label))),
        list.length > MANY && button(isExpanded ? "show fewer" : `and ${number(list.length - MANY)} more`, more, {kind: "plain small"}));
        node.hidden = list.length < 2;
        if (focused) node.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    }

    return {
        node, hidden,
        // Redrawn only if something has changed: a button that is replaced while pressed loses the click.
        lines(next) {
            if (JSON.stringify(next) === JSON.stringify(list)) return;
            list = next;
            draw(node.contains(document.activeElement) ? document.activeElement.dataset.key : null);
        },
        mark(key) {
            for (const one of node.children) one.classList.toggle("on", key !== null && one.dataset.key === key);
        },
    };
}
