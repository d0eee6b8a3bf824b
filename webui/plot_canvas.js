// SPDX-License-Identifier: Apache-2.0
// plot_canvas.js - what the plots of a search share: colours, canvases, sampling, the tooltip of a trial.
//
// A trial is coloured by its rank, not by its value.  Otherwise one diverged trial would give all others nearly the same
// colour.

import {fill, h} from "./dom.js";
import {number, value as shown} from "./format.js";
import {loadStylesheet} from "./stylesheet.js";

void loadStylesheet(new URL("./pages/experiment.css", import.meta.url));

// ---- colours: from the worst to the best ----

const LIGHT = [[251, 176, 64], [236, 112, 75], [199, 62, 118], [134, 25, 143], [45, 11, 120]];
const DARK = [[92, 58, 170], [153, 60, 178], [214, 86, 118], [248, 150, 72], [248, 231, 90]];

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = null;
export function plotColours() {
    const now = `${document.documentElement.dataset.theme || ""} ${prefersDark.matches}`;
    if (theme?.now === now) return theme; // the first call after a theme change reads the colours again
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const isDark = style.colorScheme.includes("dark");
    theme = {now, ramp: isDark ? DARK : LIGHT, text: of("--text"), dim: of("--dim"), line: of("--line"), strong: of("--line-strong"), card: of("--card"), font: of("--sans")};
    return theme;
}

export const repainters = new Set(); // functions that draw the plots again in other colours
const repaint = () => {
    for (const draw of repainters) draw();
};
document.addEventListener("themechange", () => requestAnimationFrame(repaint));
prefersDark.addEventListener("change", () => requestAnimationFrame(repaint));

export function rampColour(part, alpha = 1) {
    const {ramp} = plotColours();
    const at = Math.max(0, Math.min(1, part)) * (ramp.length - 1);
    const low = Math.min(Math.floor(at), ramp.length - 2);
    const mix = ramp[low].map((c, i) => Math.round(c + (ramp[low + 1][i] - c) * (at - low)));
    return `rgb(${mix.join(" ")} / ${alpha})`;
}

export function rampLegend() {
    const bar = h("span", {class: "ramp-bar", "aria-hidden": "true"});
    const draw = () => bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((one) => rampColour(one)).join(", ")})`;
    draw();
    repainters.add(draw);
    return {node: h("span", {class: "ramp"}, "worst", bar, "best"), destroy: () => repainters.delete(draw)};
}

// ---- canvases ----

export function fitCanvas(canvas, width, height) {
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

export function oncePerFrame(fn) {
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

// Takes at most `most` trials from a list sorted from worst to best: the best quarter, and every n-th of the rest.  More
// lines could not be told apart, and a brush shows the ones inside it.
export function evenSample(list, most) {
    if (list.length <= most) return list;
    const best = list.slice(list.length - Math.floor(most / 4));
    const rest = list.length - best.length;
    const count = most - best.length;
    return [...Array.from({length: count}, (_, i) => list[Math.floor(i * rest / count)]), ...best];
}

export function trialTip() {
    const node = h("div", {class: "picture-tip", hidden: true});
    return {
        node,
        show(trial, search, x, y, width) {
            fill(node, h("strong", `Trial ${trial.id}`), h("dl", h("dt", search.metric.name), h("dd", trial.best === null ? "no value yet" : number(trial.best)),
                search.axes.map((axis) => [h("dt", axis.name), h("dd", trial.values[axis.name] === null ? "–" : shown(trial.values[axis.name]))])));
            node.hidden = false;
            const left = x + 16 + node.offsetWidth > width ? x - 16 - node.offsetWidth : x + 16;
            node.style.left = `${Math.max(4, left)}px`;
            node.style.top = `${Math.max(4, y - 20)}px`;
        },
        hide: () => node.hidden = true,
    };
}

export const NEAR = 14; // px: a trial this close to the pointer is highlighted
