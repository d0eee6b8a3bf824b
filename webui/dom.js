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

// Replaces what is in `node`; one node that is all of it already stays, with the focus that may be in it.
export function fill(node, ...children) {
    if (children.length === 1 && children[0] instanceof Node && node.childNodes.length === 1 && node.firstChild === children[0]) return node;
    node.replaceChildren();
    append(node, children);
    return node;
}

const debounced = new Set(); // what cancels those that wait

// Calls `fn` once, `ms` after the last call of what it returns; `.now()` at once, `.cancel()` never.
export function debounce(fn, ms) {
    let timer = 0;
    const cancel = () => {
        clearTimeout(timer);
        debounced.delete(cancel);
    };
    const now = (...args) => {
        cancel();
        fn(...args);
    };
    const later = (...args) => {
        clearTimeout(timer);
        debounced.add(cancel);
        timer = setTimeout(now, ms, ...args);
    };
    return Object.assign(later, {cancel, now});
}

// Whoever typed and left at once would find the words in the address of the next page.
export const cancelDebounced = () => debounced.forEach((cancel) => cancel());

// Runs `fn` now, or `ms` after it last ended; asked for again while it runs, it runs once more: many
// changes are one more look.  What it returns resolves, or fails, with the last of them.
export function paced(fn, ms = 0) {
    let running = null;
    let isWanted = false;
    let ended = -Infinity;
    const run = async () => {
        for (;;) {
            const rest = ended + ms - performance.now();
            if (rest > 0) await new Promise((done) => setTimeout(done, rest));
            isWanted = false;
            try {
                await fn();
                if (!isWanted) return;
            } catch (error) {
                if (!isWanted) throw error;
            } finally {
                ended = performance.now();
            }
        }
    };
    return () => {
        isWanted = true;
        running ||= run().finally(() => running = null);
        return running;
    };
}
