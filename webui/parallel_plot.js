// SPDX-License-Identifier: Apache-2.0
// parallel_plot.js - parallel coordinates: every trial is a line, drawn on a canvas.
//
//   const plot = parallel({label, onBrush(brushes), onPick(trial)});
//   plot.node; plot.update(search, axes, brushes)     search: see search_data.js
//
// Layers, from below: a canvas with every trial, thin and grey; one with the trials inside the brushes, coloured by rank,
// the best on top; one with the highlighted line; and one element per axis, which holds its brush and handles the keys:
//
//   up, down         move the brush (or create one)      home, end     move it to the upper or lower end
//   shift-up, -down  make it larger or smaller           escape        remove it
//   left, right      go to the next axis

import {fill, h} from "./dom.js";
import {value as shown} from "./format.js";
import {evenSample, fitCanvas, NEAR, oncePerFrame, plotColours, rampColour, repainters, trialTip} from "./plot_canvas.js";
import {brushKey, isInside} from "./search_data.js";

const TOP = 58;
const BOTTOM = 34;
const SIDE = 70;
export const LINES_MOST = 1200;
const BACK_MOST = 400;
const LEAST = 104; // px between two axes
const STEP = 0.05;
const ENDS = 0.03;

// The height of a curve between two axes, as bezierCurveTo() draws it with control points in the middle.
const EASE = Array.from({length: 65}, (_, i) => {
    const t = i / 64;
    return {x: 1.5 * t * (1 - t) + t ** 3, y: 3 * (1 - t) * t * t + t ** 3};
});
function ease(part) {
    let i = 1;
    while (i < 64 && EASE[i].x < part) i++;
    const a = EASE[i - 1];
    const b = EASE[i];
    return a.y + (b.y - a.y) * ((part - a.x) / (b.x - a.x || 1));
}

export function parallel({label, height = 430, onBrush, onPick}) {
    const back = h("canvas", {"aria-hidden": "true"});
    const front = h("canvas", {"aria-hidden": "true"});
    const over = h("canvas", {"aria-hidden": "true"});
    const strips = h("div", {class: "strips"});
    const bubble = trialTip();
    const stage = h("div", {class: "stage"}, back, front, over, strips, bubble.node);
    const node = h("div", {class: "parallel", role: "group", "aria-label": label}, stage);
    let search = null;
    let axes = []; // hyperparameters, then the metric
    let brushes = {};
    let places = new Map(); // trial -> y on each axis
    let active = []; // trials inside the brushes, worst first
    let drawn = []; // the drawn ones among them
    let width = 0;
    let pointed = null;

    const xOf = (i) => axes.length > 1 ? SIDE + (width - 2 * SIDE) * i / (axes.length - 1) : width / 2;
    const yOf = (place) => Number.isNaN(place) ? height - BOTTOM + 20 : TOP + (1 - place) * (height - TOP - BOTTOM);
    const isMetric = (axis) => axis === search.metric;

    // A category is a band: trials are spread within it, each always at the same place.
    function spread(axis, trial) {
        const place = axis.place(isMetric(axis) ? trial.best : trial.values[axis.name]);
        if (axis.kind !== "category" || Number.isNaN(place)) return place;
        const noise = ((trial.id * 2654435761) % 4294967296) / 4294967296 - 0.5;
        return place + noise * 0.5 / axis.categories.length;
    }

    function trace(pen, ys) {
        pen.beginPath();
        pen.moveTo(xOf(0), ys[0]);
        for (let i = 1; i < ys.length; i++) {
            const middle = (xOf(i - 1) + xOf(i)) / 2;
            pen.bezierCurveTo(middle, ys[i - 1], middle, ys[i], xOf(i), ys[i]);
        }
        pen.stroke();
    }

    function measure() {
        width = Math.max(node.clientWidth, SIDE * 2 + LEAST * (axes.length - 1));
        stage.style.width = `${width}px`;
        stage.style.height = `${height}px`;
        places = new Map();
    }

    function placesOf(trial) {
        if (!places.has(trial)) places.set(trial, axes.map((axis) => yOf(spread(axis, trial))));
        return places.get(trial);
    }

    function drawBack() {
        const pen = fitCanvas(back, width, height);
        pen.strokeStyle = plotColours().strong;
        pen.globalAlpha = Math.max(0.1, Math.min(0.45, 12 / Math.sqrt(Math.min(search.trials.length, BACK_MOST) + 1)));
        pen.lineWidth = 1;
        for (const trial of evenSample(search.trials, BACK_MOST)) trace(pen, placesOf(trial));
    }

    function drawFront() {
        const pen = fitCanvas(front, width, height);
        drawn = evenSample(active, LINES_MOST);
        const count = drawn.length;
        const faint = Math.max(0.12, Math.min(0.75, 9 / Math.sqrt(count + 1)));
        for (const [i, trial] of drawn.entries()) {
            const isTop = i >= count - Math.min(20, Math.max(1, Math.round(count / 12)));
            pen.strokeStyle = trial.rank === null ? plotColours().dim : rampColour(trial.rank, isTop ? 0.95 : faint);
            pen.lineWidth = isTop ? (i === count - 1 ? 3 : 2) : 1.3;
            trace(pen, placesOf(trial));
        }
        node.dataset.drawn = Number(node.dataset.drawn || 0) + 1;
    }

    function drawOver() {
        const pen = fitCanvas(over, width, height);
        if (!pointed) return;
        pen.lineWidth = 7;
        pen.strokeStyle = plotColours().card;
        trace(pen, placesOf(pointed));
        pen.lineWidth = 3.5;
        pen.strokeStyle = pointed.rank === null ? plotColours().dim : rampColour(pointed.rank);
        trace(pen, placesOf(pointed));
    }

    function choose() {
        active = search.trials.filter((trial) => isInside(trial, search, brushes)).sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1));
    }

    const draw = oncePerFrame(() => {
        if (!search || !node.isConnected) return;
        measure();
        choose();
        drawBack();
        drawFront();
        drawOver();
        placeStrips();
    });
    const drawBrushed = oncePerFrame(() => {
        choose();
        drawFront();
        placeStrips();
    });

    // ---- axes ----

    function brushText(axis) {
        const brush = brushes[brushKey(search, axis)];
        const inside = `${active.length} of ${search.trials.length} trials`;
        if (!brush) return `all values, ${inside}`;
        if (axis.kind === "category") return `${axis.categories.filter((_, i) => (i + 0.5) / axis.categories.length >= brush[0] && (i + 0.5) / axis.categories.length <= brush[1]).map(shown).join(", ")}, ${inside}`;
        const ends = [axis.valueAt(brush[0]), axis.valueAt(brush[1])].sort((a, b) => a - b);
        return `${axis.label(ends[0])} to ${axis.label(ends[1])}, ${inside}`;
    }

    function setBrush(axis, brush, isDone = true) {
        const key = brushKey(search, axis);
        if (brush && brush[1] - brush[0] > 0.999) brush = null;
        brushes = {...brushes};
        if (brush) brushes[key] = brush;
        else delete brushes[key];
        drawBrushed();
        onBrush?.(brushes, isDone);
    }

    // Whole categories only.
    function snap(axis, [from, to]) {
        if (axis.kind !== "category") return [from, to];
        const n = axis.categories.length;
        return [Math.floor(from * n + 1e-6) / n, Math.ceil(to * n - 1e-6) / n];
    }

    function onKey(event, axis, i) {
        const step = axis.kind === "category" ? 1 / axis.categories.length : STEP;
        const old = brushes[brushKey(search, axis)];
        const size = axis.kind === "category" ? step : 0.25;
        const up = {ArrowUp: 1, ArrowDown: -1}[event.key];
        const beside = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (up && !old) setBrush(axis, up > 0 ? [1 - size, 1] : [0, size]);
        else if (up && event.shiftKey) {
            const by = up * step / (axis.kind === "category" ? 1 : 2);
            setBrush(axis, old[1] - old[0] + by < step / 2 ? old : [Math.max(0, axis.kind === "category" ? old[0] : old[0] - by), Math.min(1, old[1] + by)]);
        } else if (up) {
            const by = up > 0 ? Math.min(step, 1 - old[1]) : -Math.min(step, old[0]);
            setBrush(axis, [old[0] + by, old[1] + by]);
        } else if (event.key === "Home") setBrush(axis, [1 - (old ? old[1] - old[0] : size), 1]);
        else if (event.key === "End") setBrush(axis, [0, old ? old[1] - old[0] : size]);
        else if (["Escape", "Delete", "Backspace"].includes(event.key)) setBrush(axis, null);
        else if (beside) strips.children[i + beside]?.querySelector(".strip").focus();
        else return;
        event.preventDefault();
    }

    // Draws a new brush, moves one, or moves its ends; a click removes it.
    function onDown(event, axis) {
        if (event.button) return;
        const strip = event.currentTarget;
        const box = strip.getBoundingClientRect();
        // Near an end of the axis the brush snaps to it: the smallest and the largest value lie there.
        const placeAt = (e) => {
            const place = 1 - (e.clientY - box.top) / box.height;
            return place < ENDS ? 0 : place > 1 - ENDS ? 1 : place;
        };
        const start = placeAt(event);
        const old = brushes[brushKey(search, axis)];
        const edge = 8 / box.height;
        const mode = !old ? "new" : Math.abs(start - old[1]) < edge ? "upper" : Math.abs(start - old[0]) < edge ? "lower" : start > old[0] && start < old[1] ? "move" : "new";
        let hasMoved = false;
        strip.setPointerCapture(event.pointerId);
        strip.focus();
        event.preventDefault();
        const move = (e) => {
            const at = placeAt(e);
            if (Math.abs(at - start) * box.height > 3) hasMoved = true;
            if (!hasMoved) return;
            if (mode === "new") setBrush(axis, snap(axis, [Math.min(start, at), Math.max(start, at)]), false);
            else if (mode === "move") {
                const by = Math.max(-old[0], Math.min(1 - old[1], at - start));
                setBrush(axis, snap(axis, [old[0] + by, old[1] + by]), false);
            } else {
                const fixed = mode === "upper" ? old[0] : old[1];
                setBrush(axis, snap(axis, [Math.min(fixed, at), Math.max(fixed, at)]), false);
            }
        };
        const up = () => {
            strip.removeEventListener("pointermove", move);
            strip.removeEventListener("pointerup", up);
            strip.removeEventListener("pointercancel", up);
            if (!hasMoved) setBrush(axis, axis.kind === "category" && !old ? snap(axis, [start, start + 1e-3]) : null);
            else onBrush?.(brushes, true);
        };
        strip.addEventListener("pointermove", move);
        strip.addEventListener("pointerup", up);
        strip.addEventListener("pointercancel", up);
    }

    function makeStrip(axis, i) {
        const share = axis.importance?.share;
        const strip = h("div", {class: "strip", tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": axis.name,
            "aria-valuenow": 50, onkeydown: (event) => onKey(event, axes[i], i), onpointerdown: (event) => onDown(event, axes[i])}, h("div", {class: "brush", hidden: true}));
        return h("div", {class: ["axis", isMetric(axis) && "metric"]}, h("div", {class: "axis-name", title: axis.name}, h("b", axis.name),
            isMetric(axis) ? h("small", "best at the top") : h("small", share === null || share === undefined ? "\u00a0" : `${Math.round(share * 100)} % explained`)),
        strip, h("div", {class: "axis-ticks", "aria-hidden": "true"}));
    }

    function drawTicks(axis, place) {
        const all = axis.kind === "category" && axis.ticks.length > 12 ? axis.ticks.filter((_, i) => i % Math.ceil(axis.ticks.length / 12) === 0) : axis.ticks;
        fill(place, all.map((value) => h("span", {style: {top: `${yOf(axis.place(value))}px`}}, axis.label(value))),
            search.trials.some((trial) => Number.isNaN(axis.place(isMetric(axis) ? trial.best : trial.values[axis.name]))) && h("span", {class: "none", style: {top: `${yOf(NaN)}px`}}, isMetric(axis) ? "no value" : "none"));
    }

    function placeStrips() {
        axes.forEach((axis, i) => {
            const place = strips.children[i];
            const strip = place.querySelector(".strip");
            const brush = brushes[brushKey(search, axis)];
            const mark = strip.firstChild;
            place.style.left = `${xOf(i)}px`;
            place.style.setProperty("--room", `${axes.length > 1 ? (width - 2 * SIDE) / (axes.length - 1) : width}px`);
            strip.style.top = `${TOP}px`;
            strip.style.height = `${height - TOP - BOTTOM}px`;
            mark.hidden = !brush;
            if (brush) {
                mark.style.bottom = `${brush[0] * 100}%`;
                mark.style.height = `${(brush[1] - brush[0]) * 100}%`;
            }
            strip.setAttribute("aria-valuetext", brushText(axis));
            strip.setAttribute("aria-valuenow", Math.round(100 * (brush ? (brush[0] + brush[1]) / 2 : 0.5)));
            drawTicks(axis, place.lastChild);
        });
    }

    // ---- pointing ----

    function nearest(x, y) {
        let i = 0;
        while (i < axes.length - 2 && xOf(i + 1) < x) i++;
        const part = Math.max(0, Math.min(1, (x - xOf(i)) / (xOf(i + 1) - xOf(i))));
        const eased = ease(part);
        let found = null;
        let best = NEAR;
        for (let k = drawn.length - 1; k >= 0; k--) {
            const ys = placesOf(drawn[k]);
            const far = Math.abs(ys[i] + (ys[i + 1] - ys[i]) * eased - y);
            if (far < best) best = far, found = drawn[k];
        }
        return found;
    }

    stage.addEventListener("pointermove", (event) => {
        if (!search || axes.length < 2) return;
        const box = stage.getBoundingClientRect();
        const x = event.clientX - box.left;
        const y = event.clientY - box.top;
        const found = event.buttons || event.target.closest?.(".axis-name") ? null : nearest(x, y);
        if (found !== pointed) {
            pointed = found;
            drawOver();
        }
        stage.style.cursor = found ? "pointer" : "";
        if (found) bubble.show(found, search, x, y, width);
        else bubble.hide();
    });
    stage.addEventListener("pointerleave", () => {
        pointed = null;
        drawOver();
        bubble.hide();
    });
    stage.addEventListener("click", (event) => pointed && !event.target.closest(".strip, .axis-name") && onPick?.(pointed));

    const observer = new ResizeObserver(draw);
    observer.observe(node);
    repainters.add(draw);

    let names = "";
    return {
        node,
        update(newSearch, newAxes, newBrushes) {
            search = newSearch;
            axes = [...newAxes, search.metric];
            brushes = newBrushes;
            pointed = pointed && search.trials.find((trial) => trial.id === pointed.id) || null;
            const now = JSON.stringify(axes.map((axis) => [axis.name, axis.kind]));
            if (now === names) { // keep the elements and the focus: only the labels of the axes may differ
                axes.forEach((axis, i) => {
                    const fresh = makeStrip(axis, i);
                    const old = strips.children[i];
                    old.firstChild.replaceWith(fresh.firstChild);
                    if (!old.contains(document.activeElement)) old.querySelector(".strip").replaceWith(fresh.querySelector(".strip"));
                });
            } else fill(strips, axes.map(makeStrip));
            names = now;
            draw();
        },
        destroy() {
            observer.disconnect();
            repainters.delete(draw);
        },
    };
}
