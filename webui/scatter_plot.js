// SPDX-License-Identifier: Apache-2.0
// scatter_plot.js - two values of every trial against each other, coloured by the metric.
//
//   const plot = scatter({label, onPick}); plot.update(search, xAxis, yAxis, brushes)     search: see search_data.js

import {h} from "./dom.js";
import {evenSample, fitCanvas, NEAR, oncePerFrame, plotColours, rampColour, repainters, trialTip} from "./plot_canvas.js";
import {isInside} from "./search_data.js";

export const DOTS_MOST = 1500;
const EDGE = 8; // px between the dots and the frame
const NAME = 15; // px for the name of an axis
const LABELS_MOST = 90; // px for the labels of the vertical axis

// The text, shortened to `room` px.
function cutText(pen, text, room) {
    if (pen.measureText(text).width <= room) return text;
    let kept = text.length;
    while (kept > 1 && pen.measureText(text.slice(0, kept) + "…").width > room) kept--;
    return text.slice(0, kept) + "…";
}

// Of the ticks those whose labels do not overlap, the ends first.  sizeOf: [middle, size] in px.
function apart(ticks, sizeOf) {
    const taken = [];
    return [...new Set([ticks[0], ticks.at(-1), ...ticks])].filter((tick) => {
        const [at, size] = sizeOf(tick);
        if (taken.some(([other, its]) => Math.abs(other - at) < (its + size) / 2)) return false;
        taken.push([at, size]);
        return true;
    });
}

export function scatter({label, height = 205, onPick}) {
    const canvas = h("canvas", {"aria-hidden": "true"});
    const bubble = trialTip();
    const node = h("div", {class: "scatter", role: "img", "aria-label": label}, canvas, bubble.node);
    let search = null;
    let x = null;
    let y = null;
    let brushes = {};
    let dots = [];

    const valueOf = (axis, trial) => axis === search.metric ? trial.best : trial.values[axis.name];
    const noise = (trial, salt) => (((trial.id + salt) * 2654435761) % 4294967296) / 4294967296 - 0.5;
    const placeOf = (axis, trial, salt) => axis.place(valueOf(axis, trial)) + (axis.kind === "category" ? noise(trial, salt) * 0.5 / axis.categories.length : 0);

    // The frame of the dots, with room for whole labels and the names of both axes.
    function measure(pen, width) {
        const wide = (axis, most) => Math.ceil(Math.max(0, ...axis.ticks.map((tick) => Math.min(most, pen.measureText(String(axis.label(tick))).width))));
        const left = NAME + Math.min(LABELS_MOST, wide(y, LABELS_MOST)) + 8;
        const right = Math.max(EDGE, Math.ceil(wide(x, width / 3) / 2) - EDGE + 2);
        return {left, right, top: EDGE, base: NAME + 20, x: (part) => left + EDGE + part * (width - left - right - 2 * EDGE), y: (part) => EDGE + 4 + (1 - part) * (height - EDGE - NAME - 28)};
    }

    function drawNames(pen, frame, width) {
        pen.textAlign = "center";
        pen.textBaseline = "bottom";
        pen.fillText(cutText(pen, x.name, width - frame.left), (frame.left + width - frame.right) / 2, height - 2);
        pen.save();
        pen.translate(1, (height - frame.base) / 2);
        pen.rotate(-Math.PI / 2);
        pen.textBaseline = "top";
        pen.fillText(cutText(pen, y.name, height - frame.base - 6), 0, 0);
        pen.restore();
    }

    function ticks(pen, width) {
        const {dim, line, font} = plotColours();
        pen.font = `11px ${font || "sans-serif"}`;
        const frame = measure(pen, width);
        pen.fillStyle = dim;
        pen.strokeStyle = line;
        pen.lineWidth = 1;
        pen.textAlign = "right";
        pen.textBaseline = "middle";
        for (const tick of apart(y.ticks, (one) => [frame.y(y.place(one)), 16])) {
            const at = frame.y(y.place(tick));
            pen.beginPath();
            pen.moveTo(frame.left, at);
            pen.lineTo(width - frame.right, at);
            pen.stroke();
            pen.fillText(cutText(pen, String(y.label(tick)), LABELS_MOST), frame.left - 5, at);
        }
        pen.textAlign = "center";
        pen.textBaseline = "top";
        const textOf = (tick) => cutText(pen, String(x.label(tick)), width / 3);
        for (const tick of apart(x.ticks, (one) => [frame.x(x.place(one)), pen.measureText(textOf(one)).width + 8])) {
            pen.fillText(textOf(tick), frame.x(x.place(tick)), height - frame.base + 6);
        }
        drawNames(pen, frame, width);
        return frame;
    }

    const draw = oncePerFrame(() => {
        if (!search || !node.isConnected) return;
        const width = node.clientWidth;
        const pen = fitCanvas(canvas, width, height);
        const known = search.ranked;
        const radius = known.length > 1000 ? 2 : known.length > 300 ? 2.6 : 4;
        dots = [];
        const frame = ticks(pen, width);
        const isBrushed = Object.keys(brushes).length > 0;
        const all = isBrushed ? known.filter((trial) => isInside(trial, search, brushes)) : known;
        const inside = evenSample(all, DOTS_MOST);
        const outside = isBrushed ? evenSample(known.filter((trial) => !isInside(trial, search, brushes)), DOTS_MOST / 2) : [];
        const isOnSet = new Set(inside);
        for (const trial of [...outside, ...inside]) {
            const px = placeOf(x, trial, 1);
            const py = placeOf(y, trial, 7);
            if (Number.isNaN(px) || Number.isNaN(py)) continue;
            const isOn = isOnSet.has(trial);
            const dot = {trial, isOn, x: frame.x(px), y: frame.y(py)};
            dots.push(dot);
            pen.beginPath();
            pen.arc(dot.x, dot.y, radius, 0, 2 * Math.PI);
            pen.fillStyle = isOn ? rampColour(trial.rank, 0.9) : plotColours().strong;
            pen.globalAlpha = isOn ? 1 : 0.35;
            pen.fill();
            pen.globalAlpha = 1;
            if (isOn && radius > 3) {
                pen.lineWidth = 1;
                pen.strokeStyle = plotColours().card;
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
    repainters.add(draw);
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
            repainters.delete(draw);
        },
    };
}
