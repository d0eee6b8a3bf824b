// SPDX-License-Identifier: Apache-2.0
// dom.js - creates elements in one expression.
//
//   h("button", {class: "primary", onclick: save}, "Save")
//
// Attributes: on… are listeners; true sets an attribute, false omits it; `class` may be a list, whose false entries are
// skipped; `style` is an object; `ref` is called with the element.  Children are nodes, lists of nodes, or text; null and
// false are skipped.  Text never becomes markup: the WebUI creates all elements here.

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

// Replaces the children of `node`.  An only child that stays the same is not touched, so it keeps the focus.
export function fill(node, ...children) {
    if (children.length === 1 && children[0] instanceof Node && node.childNodes.length === 1 && node.firstChild === children[0]) return node;
    node.replaceChildren();
    append(node, children);
    return node;
}

const debounced = new Set(); // the cancel functions of pending calls

// Returns a function that calls `fn` once, `ms` after its own last call; `.now()` calls it at once, `.cancel()` drops it.
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

// For a page change: a pending search must not write its text into the address of the next page.
export const cancelDebounced = () => debounced.forEach((cancel) => cancel());

// Returns a function that runs `fn` now, or `ms` after its last run ended.  Calls during a run cause one more run,
// however many they are.  The promise settles with the last run.
export function throttle(fn, ms = 0) {
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
