// SPDX-License-Identifier: Apache-2.0
// router.js - addresses and their pages.
//
// Every view has an address, which includes the user's choices in the view (tab, filters, sort order).

import {queryText} from "./api.js";
import {h} from "./dom.js";

export const BASE = "/det";

let onMove = () => {};
export function whenMoved(fn) {
    onMove = fn;
}

// Goes to an address of the WebUI ("/experiments/3"); `replace` adds no history entry.
export function go(address, {replace = false} = {}) {
    history[replace ? "replaceState" : "pushState"](null, "", BASE + address);
    onMove();
}

// A link that changes the page without loading the document again.  Ctrl-click and the middle button open a new tab as
// usual.
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

// Query parameters that may occur several times; of all others the last value counts.
const LISTS = new Set(["experiments", "labels", "metric", "pool", "searcher", "states", "trials", "users"]);

// {q: "x", states: ["ACTIVE", "PAUSED"]}: a string, or a list if a parameter of LISTS occurs several times.
export function readQuery(search = location.search) {
    const query = {};
    for (const [name, value] of new URLSearchParams(search)) {
        query[name] = LISTS.has(name) && query[name] !== undefined ? [].concat(query[name], value) : value;
    }
    return query;
}

// Changes the query of the current address without changing the page.  Null and "" remove a parameter.
export function setQuery(changes, {push = false} = {}) {
    const query = {...readQuery(), ...changes};
    history[push ? "pushState" : "replaceState"](null, "", location.pathname + queryText(query));
    return query;
}

// The id of an experiment or trial, as in an address.
export const isId = (text) => /^[1-9]\d{0,14}$/.test(text);

// Finds the route of a path in ROUTES of app.js: {module, params, preload}, or null.  "/experiments/:id/:tab?" gives the
// params {id, tab}; the tab must be one of the route's.
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
        if (fits && (!tab || Object.hasOwn(tabs, tab))) return {module, params, preload: (tabs[tab] || "").split(" ").filter(Boolean)};
    }
    return null;
}
