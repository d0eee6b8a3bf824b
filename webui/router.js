// SPDX-License-Identifier: Apache-2.0
// router.js - addresses and the pages behind them.
//
// Every view has an address; what is chosen in a view (a tab, a filter, an order) is part of it.

import {h} from "./dom.js";
import {queryText} from "./api.js";

export const BASE = "/det";

let onMove = () => {};
export function whenMoved(fn) {
    onMove = fn;
}

// Goes to an address inside of the WebUI ("/experiments/3"); `replace` leaves no step back.
export function go(address, {replace = false} = {}) {
    history[replace ? "replaceState" : "pushState"](null, "", BASE + address);
    onMove();
}

// A link that loads no page anew; ctrl-click and the middle button work as people expect.
export function link(address, attributes, ...children) {
    return h("a", {
        href: BASE + address, ...attributes,
        onclick: (event) => {
            if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            event.preventDefault();
            go(address);
        },
    }, ...children);
}

// What an address may have several times; of anything else the last one counts.
const LISTS = new Set(["experiments", "labels", "metric", "pool", "searcher", "states", "trials", "users"]);

// {q: "x", states: ["ACTIVE", "PAUSED"]}: a text, or a list of a name of LISTS that is there several times.
export function readQuery(search = location.search) {
    const query = {};
    for (const [name, value] of new URLSearchParams(search)) {
        query[name] = LISTS.has(name) && query[name] !== undefined ? [].concat(query[name], value) : value;
    }
    return query;
}

// Changes the address of the page that is shown; the page itself stays.  Values that are null or "" go.
export function setQuery(changes, {push = false} = {}) {
    const query = {...readQuery(), ...changes};
    history[push ? "pushState" : "replaceState"](null, "", location.pathname + queryText(query));
    return query;
}

// Numbers of experiments and trials, as addresses have them.
export const isId = (text) => /^[1-9]\d{0,14}$/.test(text);

// ROUTES of app.js: {module, params, soon}; "/experiments/:id/:tab?" gives the params {id, tab}, of which the tab must be known.
export function match(routes, path) {
    const parts = path.split("/").filter(Boolean);
    for (const [pattern, module, tabs = {}] of routes.flatMap(([addresses, ...rest]) => addresses.split(" ").map((one) => [one, ...rest]))) {
        const wanted = pattern.split("/").filter(Boolean);
        const params = {};
        const fits = wanted.length >= parts.length && wanted.every((piece, i) => {
            const part = parts[i];
            if (!piece.startsWith(":")) return piece === part;
            const name = piece.replace(/[:?]/g, "");
            if (part === undefined) return piece.endsWith("?");
            try {
                params[name] = decodeURIComponent(part);
            } catch {
                return false;
            }
            return true;
        });
        const tab = params.tab || "";
        if (fits && (!tab || Object.hasOwn(tabs, tab))) return {module, params, soon: (tabs[tab] || "").split(" ").filter(Boolean)};
    }
    return null;
}
