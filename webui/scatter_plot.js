// SPDX-License-Identifier: Apache-2.0
// scatter_plot.js - two values of every trial against each other, coloured by the metric.
//
//   const plot = scatter({label, onPick}); plot.update(search, xAxis, yAxis, brushes)     search: see search_data.js

import {h} from "./dom.js";
import {evenSample, fitCanvas, NEAR, oncePerFrame, plotColours, rampColour, repainters, trialTip} from "./plot_canvas.js";
import {isInside} from "./search_data.js";

const DOTS_MOST = 1500;
const LEFT = 46;
const BASE = 26;

export function scatter({label, height = 190, onPick}) {
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

    function ticks(pen, width) {
        const {dim, line, font} = plotColours();
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

    const draw = oncePerFrame(() => {
        if (!search || !node.isConnected) return;
        const width = node.clientWidth;
        const pen = fitCanvas(canvas, width, height);
        const known = search.ranked;
        const radius = known.length > 1000 ? 2 : known.length > 300 ? 2.6 : 4;
        dots = [];
        ticks(pen, width);
        const isBrushed = Object.keys(brushes).length > 0;
        const inside = isBrushed ? evenSample(known.filter((trial) => isInside(trial, search, brushes)), DOTS_MOST) : evenSample(known, DOTS_MOST);
        const outside = isBrushed ? evenSample(known.filter((trial) => !isInside(trial, search, brushes)), DOTS_MOST / 2) : [];
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
