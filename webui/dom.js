// SPDX-License-Identifier: Apache-2.0
// dom.js - elements, made in one expression.
//
//   h("button", {class: "primary", onclick: save}, "Save")
//
// Attributes: on… are listeners; true and false set and leave out; `class` may be a list with
// holes; `style` is an object; `ref` is called with the element.  Children are nodes, lists of
// them, or text; null and false are left out.  Text never becomes markup: there is no other way
// to make elements in this program.

const SVG = "http://www.w3.org/2000/svg";

function append(node, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false || child === true) continue;
        if (Array.isArray(child)) append(node, child);
        else node.append(child instanceof Node ? child : String(child));
    }
}

function set(node, name, value) {
    if (value === null || value === undefined || value === false) return;
    if (name === "ref") value(node);
    else if (name === "class") {
        const list = (Array.isArray(value) ? value : [value]).filter(Boolean).join(" ");
        if (list) node.setAttribute("class", list);
    } else if (name === "style") {
        for (const [property, to] of Object.entries(value)) {
            if (property.startsWith("--")) node.style.setProperty(property, to);
            else node.style[property] = to;
        }
    } else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "indeterminate") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
}

function make(node, attributes, children) {
    const isPlain = attributes && typeof attributes === "object" && !(attributes instanceof Node) && !Array.isArray(attributes);
    if (isPlain) {
        for (const [name, value] of Object.entries(attributes)) if (name !== "value") set(node, name, value);
    } else if (attributes !== undefined) children = [attributes, ...children];
    append(node, children);
    if (isPlain) set(node, "value", attributes.value); // a select needs its options first
    return node;
}

export function h(tag, attributes, ...children) {
    return make(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
    return make(document.createElementNS(SVG, tag), attributes, children);
}

// Replaces what is in `node`.
export function fill(node, ...children) {
    node.replaceChildren();
    append(node, children);
    return node;
}

// Calls `fn` once, `ms` after the last call of what it returns; `.now()` at once, `.cancel()` never.
export function debounce(fn, ms) {
    let timer = 0;
    const later = (...args) => {
        clearTimeout(timer);
        timer = setTimeout(() => fn(...args), ms);
    };
    later.cancel = () => clearTimeout(timer);
    later.now = (...args) => {
        clearTimeout(timer);
        fn(...args);
    };
    return later;
}

// Runs `fn` now; asked for again while it runs, it runs once more: many changes are one more look.
export function paced(fn) {
    let running = null;
    let isWanted = false;
    const run = async () => {
        do {
            isWanted = false;
            await fn();
        } while (isWanted);
    };
    return () => {
        isWanted = true;
        running ||= run().finally(() => running = null);
        return running;
    };
}
