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

// {q: "x", page: ["2"]}: of a name that is there several times, a list.
export function readQuery(search = location.search) {
    const query = {};
    for (const [name, value] of new URLSearchParams(search)) {
        if (name in query) query[name] = [].concat(query[name], value);
        else query[name] = value;
    }
    return query;
}

// Changes the address of the page that is shown; the page itself stays.  Values that are null or "" go.
export function setQuery(changes, {push = false} = {}) {
    const query = {...readQuery(), ...changes};
    history[push ? "pushState" : "replaceState"](null, "", location.pathname + queryText(query));
    return query;
}

// ROUTES: [pattern, module, names]; "/experiments/:id/:tab?" gives {id, tab}.
export function match(routes, path) {
    const parts = path.split("/").filter(Boolean);
    for (const [pattern, module] of routes) {
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
        if (fits) return {module, params};
    }
    return null;
}
