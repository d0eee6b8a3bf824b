// SPDX-License-Identifier: Apache-2.0
// picture.js - pictures of a search, drawn on a canvas by hand: what they share, and the scatter.
//
//   const dots = scatter({label, onPick}); dots.update(search, xAxis, yAxis, brushes)   search: see search_data.js
//
// Trials have the colour of their rank, not of their value: so that one that went astray does not
// make all others look alike.

import {fill, h} from "./dom.js";
import {number, value as shown} from "./format.js";
import {isInside} from "./search_data.js";
import {style} from "./style.js";

void style(new URL("./pages/experiment.css", import.meta.url));

// ---- colours: from the worst to the best ----

const LIGHT = [[251, 176, 64], [236, 112, 75], [199, 62, 118], [134, 25, 143], [45, 11, 120]];
const DARK = [[92, 58, 170], [153, 60, 178], [214, 86, 118], [248, 150, 72], [248, 231, 90]];

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = null;
export function colours() {
    const now = `${document.documentElement.dataset.theme || ""} ${prefersDark.matches}`;
    if (theme?.now === now) return theme; // whoever asks first after a change, charts among them, sees the new ones
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const isDark = style.colorScheme.includes("dark");
    theme = {now, ramp: isDark ? DARK : LIGHT, text: of("--text"), dim: of("--dim"), line: of("--line"), strong: of("--line-strong"), card: of("--card"), font: of("--sans")};
    return theme;
}

export const pictures = new Set(); // what draws each of them: other colours
const repaint = () => {
    for (const draw of pictures) draw();
};
document.addEventListener("themechange", () => requestAnimationFrame(repaint));
prefersDark.addEventListener("change", () => requestAnimationFrame(repaint));

export function rampColour(part, alpha = 1) {
    const {ramp} = colours();
    const at = Math.max(0, Math.min(1, part)) * (ramp.length - 1);
    const low = Math.min(Math.floor(at), ramp.length - 2);
    const mix = ramp[low].map((c, i) => Math.round(c + (ramp[low + 1][i] - c) * (at - low)));
    return `rgb(${mix.join(" ")} / ${alpha})`;
}

export function legend() {
    const bar = h("span", {class: "ramp-bar", "aria-hidden": "true"});
    const draw = () => bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((one) => rampColour(one)).join(", ")})`;
    draw();
    pictures.add(draw);
    return {node: h("span", {class: "ramp"}, "worst", bar, "best"), destroy: () => pictures.delete(draw)};
}

// ---- canvases ----

export function fit(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
}

export function soon(fn) {
    let isPlanned = false;
    return () => {
        if (isPlanned) return;
        isPlanned = true;
        requestAnimationFrame(() => {
            isPlanned = false;
            fn();
        });
    };
}

// Of a list that goes from the worst to the best, so many that they can be drawn at once: the best, and of the
// rest every n-th.  Nobody could tell more lines apart, and a brush brings out those inside it.
export function thin(list, most) {
    if (list.length <= most) return list;
    const best = list.slice(list.length - Math.floor(most / 4));
    const rest = list.length - best.length;
    const count = most - best.length;
    return [...Array.from({length: count}, (_, i) => list[Math.floor(i * rest / count)]), ...best];
}

export function tip() {
    const node = h("div", {class: "picture-tip", hidden: true});
    return {
        node,
        show(trial, search, x, y, width) {
            fill(node, h("strong", `Trial ${trial.id}`), h("dl", h("dt", search.metric.name), h("dd", trial.best === null ? "none yet" : number(trial.best)),
                search.axes.map((axis) => [h("dt", axis.name), h("dd", trial.values[axis.name] === null ? "–" : shown(trial.values[axis.name]))])));
            node.hidden = false;
            const left = x + 16 + node.offsetWidth > width ? x - 16 - node.offsetWidth : x + 16;
            node.style.left = `${Math.max(4, left)}px`;
            node.style.top = `${Math.max(4, y - 20)}px`;
        },
        hide: () => node.hidden = true,
    };
}

// ---- scatter ----

export const NEAR = 14; // px at which a trial is pointed at
const DOTS_MOST = 1500;
const LEFT = 46;
const BASE = 26;

// Two values of every trial against each other; colour: the metric.
export function scatter({label, height = 190, onPick}) {
    const canvas = h("canvas", {"aria-hidden": "true"});
    const bubble = tip();
    const node = h("div", {class: "scatter", role: "img", "aria-label": label}, canvas, bubble.node);
    let search = null;
    let x = null;
    let y = null;
    let brushes = {};
    let dots = [];

    const valueOf = (axis, trial) => axis === search.metric ? trial.best : trial.values[axis.name];
    const noise = (trial, salt) => (((trial.id + salt) * 2654435761) % 4294967296) / 4294967296 - 0.5;
    const placeOf = (axis, trial, salt) => axis.place(valueOf(axis, trial)) + (axis.kind === "category" ? noise(trial, salt) * 0.5 / axis.categories.length : 0);

    function ticks(pen, width) {
        const {dim, line, font} = colours();
        const cut = (axis, count) => axis.ticks.filter((_, i) => i % Math.ceil(axis.ticks.length / count) === 0);
        pen.font = `11px ${font || "sans-serif"}`;
        pen.fillStyle = dim;
        pen.strokeStyle = line;
        pen.lineWidth = 1;
        pen.textAlign = "right";
        pen.textBaseline = "middle";
        for (const tick of cut(y, 5)) {
            const at = 8 + (1 - y.place(tick)) * (height - BASE - 16);
            pen.beginPath();
            pen.moveTo(LEFT, at);
            pen.lineTo(width - 6, at);
            pen.stroke();
            pen.fillText(String(y.label(tick)).slice(0, 8), LEFT - 5, at);
        }
        pen.textAlign = "center";
        pen.textBaseline = "top";
        for (const tick of cut(x, Math.max(2, Math.floor(width / 70)))) {
            const at = LEFT + 6 + x.place(tick) * (width - LEFT - 18);
            pen.fillText(String(x.label(tick)).slice(0, 10), Math.min(at, width - 16), height - BASE + 8);
        }
    }

    const draw = soon(() => {
        if (!search || !node.isConnected) return;
        const width = node.clientWidth;
        const pen = fit(canvas, width, height);
        const known = search.ranked;
        const radius = known.length > 1000 ? 2 : known.length > 300 ? 2.6 : 4;
        dots = [];
        ticks(pen, width);
        const isBrushed = Object.keys(brushes).length > 0;
        const inside = isBrushed ? thin(known.filter((trial) => isInside(trial, search, brushes)), DOTS_MOST) : thin(known, DOTS_MOST);
        const outside = isBrushed ? thin(known.filter((trial) => !isInside(trial, search, brushes)), DOTS_MOST / 2) : [];
        const isOnSet = new Set(inside);
        for (const trial of [...outside, ...inside]) {
            const px = placeOf(x, trial, 1);
            const py = placeOf(y, trial, 7);
            if (Number.isNaN(px) || Number.isNaN(py)) continue;
            const isOn = isOnSet.has(trial);
            const dot = {trial, isOn, x: LEFT + 6 + px * (width - LEFT - 18), y: 8 + (1 - py) * (height - BASE - 16)};
            dots.push(dot);
            pen.beginPath();
            pen.arc(dot.x, dot.y, radius, 0, 2 * Math.PI);
            pen.fillStyle = isOn ? rampColour(trial.rank, 0.9) : colours().strong;
            pen.globalAlpha = isOn ? 1 : 0.35;
            pen.fill();
            pen.globalAlpha = 1;
            if (isOn && radius > 3) {
                pen.lineWidth = 1;
                pen.strokeStyle = colours().card;
                pen.stroke();
            }
        }
        node.dataset.drawn = Number(node.dataset.drawn || 0) + 1;
    });

    const at = (event) => {
        const box = canvas.getBoundingClientRect();
        let best = NEAR;
        let found = null;
        for (const dot of dots) {
            const far = Math.hypot(dot.x - event.clientX + box.left, dot.y - event.clientY + box.top);
            if (dot.isOn && far < best) best = far, found = dot;
        }
        return found;
    };
    node.addEventListener("pointermove", (event) => {
        const dot = at(event);
        node.style.cursor = dot ? "pointer" : "";
        if (dot) bubble.show(dot.trial, search, dot.x, dot.y, node.clientWidth);
        else bubble.hide();
    });
    node.addEventListener("pointerleave", () => bubble.hide());
    node.addEventListener("click", (event) => {
        const dot = at(event);
        if (dot) onPick?.(dot.trial);
    });
    const observer = new ResizeObserver(draw);
    observer.observe(node);
    pictures.add(draw);
    return {
        node,
        update(newSearch, xAxis, yAxis, newBrushes) {
            search = newSearch;
            x = xAxis;
            y = yAxis;
            brushes = newBrushes;
            draw();
        },
        destroy() {
            observer.disconnect();
            pictures.delete(draw);
        },
    };
}
