// SPDX-License-Identifier: Apache-2.0
// widgets.js - buttons, menus, dialogs and other small parts of pages.

import {fill, h, svg} from "./dom.js";
import {number, percent, stateKind, stateName} from "./format.js";
import {link} from "./router.js";

let counter = 0;
export const freshId = (name) => `${name}-${++counter}`;

// kind: "primary", "danger" or "plain" (no frame).
export function button(label, onclick, {kind = "", title, disabled, icon: name, ...rest} = {}) {
    return h("button", {type: "button", class: ["button", kind], onclick, title, disabled, ...rest}, name && icon(name), label);
}

// Disables the button while `work` runs; an error becomes a toast.
export function workButton(label, work, options) {
    const node = button(label, async () => {
        node.disabled = true;
        try {
            await work();
        } catch (error) {
            toastError(error);
        } finally {
            node.disabled = false;
        }
    }, options);
    return node;
}

const ICONS = { // 16 x 16 paths
    check: "M3 8.5l3.2 3L13 4.5", cross: "M4 4l8 8M12 4l-8 8", down: "M4 6l4 4 4-4", right: "M6 4l4 4-4 4", left: "M10 4l-4 4 4 4", plus: "M8 3v10M3 8h10",
    search: "M7 12a5 5 0 100-10 5 5 0 000 10zM11 11l3.5 3.5", menu: "M2 4h12M2 8h12M2 12h12", more: "M3 8h.01M8 8h.01M13 8h.01", pause: "M5 3v10M11 3v10", play: "M5 3l8 5-8 5z",
    stop: "M4 4h8v8H4z", download: "M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10", edit: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z", link: "M7 9a3 3 0 004.2 0l2-2a3 3 0 00-4.2-4.2l-.8.8M9 7a3 3 0 00-4.2 0l-2 2A3 3 0 007 13.200l.8-.8",
    copy: "M5 5V2.500h8.500V11H11M2.500 5H11v8.500H2.500z", warn: "M8 2l6.500 12h-13zM8 6.500v3.500M8 12h.01", star: "M8 2l1.900 3.900 4.300.6-3.100 3 .7 4.300L8 11.800l-3.800 2 .7-4.300-3.100-3 4.300-.6z", clock: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 4.500V8l2.500 1.500",
};
export const icon = (name) => svg("svg", {class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true"}, svg("path", {d: ICONS[name]}));

export const badge = (state) => h("span", {class: ["badge", stateKind(state)]}, stateName(state) || "UNKNOWN");
export const chip = (text, onRemove) => h("span", {class: "chip"}, h("span", {class: "chip-text", title: text.length > 30 ? text : null}, text),
    onRemove && h("button", {type: "button", class: "chip-x", "aria-label": `Remove ${text}`, onclick: onRemove}, "×"));

export function progressBar(part, label = "progress") {
    if (part === null || part === undefined) return h("span", {class: "dim"}, "–");
    const shown = percent(part);
    return h("span", {class: "progress", role: "progressbar", "aria-label": label, "aria-valuenow": Math.floor(part * 100), "aria-valuemin": 0, "aria-valuemax": 100},
        h("span", {class: "track"}, h("span", {class: "done", style: {width: `${Math.min(part, 1) * 100}%`}})), h("span", {class: "num"}, shown));
}

export const empty = (...children) => h("div", {class: "empty"}, ...children);
// "200 of 1 000 trials shown", where not all are.
export const shownOf = (most, all, what, why = "") => all > most && h("p", {class: "dim"}, `${number(most)} of ${number(all)} ${what} shown${why}.`);
export const spinner = (label = "Loading …") => h("div", {class: "spinner", role: "status"}, label);
export const errorBox = (error) => h("div", {class: "error", role: "alert"}, h("strong", error?.status === 404 ? "Not found. " : "Error. "), errorSentence(error));
export const errorSentence = (error) => {
    const isModule = error instanceof TypeError && /dynamically imported module/.test(error.message); // the module could not be fetched
    const text = isModule ? "the master cannot be reached" : String(error?.message || error || "");
    return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
};

// A control with its label: field("Name", input).
export function field(label, control, hint) {
    control.id ||= freshId("field");
    return h("div", {class: "field"}, h("label", {for: control.id}, label), control, hint && h("small", {class: "dim"}, hint));
}
export const select = (options, current, onchange, attributes) => h("select", {onchange: (e) => onchange(e.target.value), value: current, ...attributes},
    options.map((one) => Array.isArray(one) ? h("option", {value: one[0]}, one[1]) : h("option", {value: one}, one)));

// tabs([["overview", "Overview"], …], current, (name) => address)
export const tabs = (list, current, addressOf) => h("nav", {class: "tabs", "aria-label": "Views"},
    list.filter(Boolean).map(([name, label, count]) => link(addressOf(name), {"aria-current": name === current ? "page" : null}, label,
        count === undefined || count === null ? null : h("span", {class: "count"}, number(count)))));

// ---- over the page: toasts, dialogs, menus ----

let toasts = null;
export function toast(text, kind = "info") {
    if (!toasts) document.body.append(toasts = h("div", {class: "toasts", role: "status", "aria-live": "polite"}));
    const node = h("div", {class: ["toast", kind]}, h("span", text), h("button", {type: "button", class: "chip-x", "aria-label": "Dismiss", onclick: () => node.remove()}, "×"));
    toasts.append(node);
    setTimeout(() => node.remove(), kind === "bad" ? 15000 : 5000);
}
export const toastError = (error) => error?.name === "AbortError" || toast(errorSentence(error), "bad");

// dialog("Title", (close) => content): resolves with the argument of close(), or undefined if the user dismissed it.
export function dialog(title, content, {wide = false} = {}) {
    return new Promise((resolve) => {
        let result;
        const id = freshId("dialog");
        const close = (value) => {
            result = value;
            node.close();
        };
        const node = h("dialog", {class: wide && "wide", "aria-labelledby": id},
            h("header", h("h2", {id}, title), button("", () => close(), {kind: "plain", icon: "cross", "aria-label": "Close"})), content(close));
        node.addEventListener("close", () => {
            node.remove();
            resolve(result);
        });
        document.body.append(node);
        node.showModal();
    });
}

// Asks for confirmation; true if the user confirms.
export async function confirm(title, text, yes = "Yes", kind = "primary") {
    return await dialog(title, (close) => [h("p", text), h("footer", button("Cancel", () => close(false)),
        h("button", {type: "button", class: ["button", kind], autofocus: true, onclick: () => close(true)}, yes))]) === true;
}

// A button that opens a list of actions: menu("Actions", [["Pause", pause, {disabled, kind}], …]).
export function menu(label, items, options = {}) {
    const id = freshId("menu");
    const list = h("div", {class: "menu", popover: "auto", id, role: "menu"});
    const opener = button(label, () => {}, {icon: "down", "aria-haspopup": "menu", ...options});
    opener.setAttribute("popovertarget", id);
    const entries = () => [...list.querySelectorAll("button:not(:disabled)")];
    const draw = () => fill(list, (typeof items === "function" ? items() : items).filter(Boolean).map(([text, act, {disabled, kind, title} = {}]) =>
        h("button", {type: "button", role: "menuitem", class: kind, disabled, title, onclick: () => {
            list.hidePopover();
            act();
        }}, text)));
    list.addEventListener("beforetoggle", (event) => event.newState === "open" && draw());
    list.addEventListener("toggle", (event) => {
        if (event.newState !== "open") return;
        const at = opener.getBoundingClientRect();
        list.style.top = `${Math.min(at.bottom + 4, innerHeight - list.offsetHeight - 8)}px`;
        list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - list.offsetWidth - 8))}px`;
        entries()[0]?.focus();
    });
    list.addEventListener("keydown", (event) => {
        const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
        if (!step) return;
        event.preventDefault();
        const all = entries();
        all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
    });
    return h("span", {class: "menu-place"}, opener, list);
}

// Browsers offer no clipboard API to pages loaded over plain HTTP from another machine.
export async function toClipboard(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = h("textarea", {class: "hidden", value: text});
    (document.querySelector("dialog[open]") || document.body).append(area); // while a dialog is open, nothing outside it can be selected
    area.select();
    document.execCommand("copy");
    area.remove();
}

export function saveAs(name, blob) {
    const anchor = h("a", {href: URL.createObjectURL(blob), download: name});
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 10000); // the browser reads it later
}

export function copyButton(text, label = "Copy", options) {
    return button(label, () => toClipboard(typeof text === "function" ? text() : text).then(() => toast("Copied"), toastError), {icon: "copy", ...options});
}

// Names and values in two columns.
export const facts = (rows) => h("dl", {class: "facts"}, rows.filter(Boolean).map(([name, shown]) => [h("dt", name), h("dd", shown === "" || shown === null || shown === undefined ? "–" : shown)]));
