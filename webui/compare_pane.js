// SPDX-License-Identifier: Apache-2.0
// compare_pane.js - the charts of the Compare page in a pane beside a table.
//
//   const pane = comparePane({onClose});
//   pane.node; pane.show([1, 2]) draws these experiments; pane.show([]) explains itself; pane.hide(); pane.update(changes)
//
// The pane runs the Compare page itself inside another root, so both always show the same.  Its settings (smoothing, axis)
// are kept while it is closed, and not in the address, which belongs to the table.

import {isAbort} from "./api.js";
import {fill, h} from "./dom.js";
import {button, empty, errorBox, spinner} from "./widgets.js";

export function comparePane({onClose}) {
    const body = h("div", {class: "pile"});
    const node = h("aside", {class: "compare-pane", "aria-label": "Charts of the selected experiments", hidden: true},
        h("div", {class: "bar"}, h("h2", "Charts"), h("span", {class: "grow"}), button("", () => onClose(), {kind: "plain", icon: "cross", "aria-label": "Close the charts"})), body);
    const kept = {}; // settings of the charts
    const keepQuery = (changes) => Object.entries(changes).forEach(([name, value]) => kept[name] = String(value)); // as an address would
    let shown = null;
    let end = () => {};
    let listeners = [];

    async function draw(ids) {
        const abort = new AbortController();
        const stops = [];
        const root = h("div", {class: "pile"}, spinner());
        end = () => {
            abort.abort();
            for (const stop of stops.splice(0)) stop();
        };
        listeners = [];
        fill(body, root);
        try {
            const {page} = await import("./pages/compare.js");
            if (abort.signal.aborted) return;
            await page({root, query: {...kept, experiments: ids.join()}, signal: abort.signal, isPane: true, title: () => {}, keepQuery,
                onLeave: (fn) => abort.signal.aborted ? fn() : stops.push(fn), live: (_, fn) => listeners.push(fn)});
        } catch (error) {
            if (!isAbort(error) && !abort.signal.aborted) fill(body, errorBox(error));
        }
    }

    return {
        node,
        isOpen: () => !node.hidden,
        show(ids) {
            node.hidden = false;
            if (shown === (shown = ids.join())) return;
            end();
            if (ids.length) void draw(ids);
            else fill(body, empty(h("p", "Select experiments in the table to see their charts here.")));
        },
        hide() {
            node.hidden = true;
            shown = null;
            end();
            body.replaceChildren();
        },
        update: (changes) => node.hidden || listeners.forEach((fn) => fn(changes)),
    };
}
