// SPDX-License-Identifier: Apache-2.0
// chart_controls.js - the controls above charts, the same on every page: smoothing and logarithmic axes.

import {debounce, fill, h} from "./dom.js";
import {button} from "./widgets.js";

// A slider with its value; calls onChange(weight) a moment after the last move.
export function smoothSlider(value, onChange) {
    const shown = h("output", {class: "num smooth-value"}, value.toFixed(2));
    const tell = debounce(onChange, 60);
    const slider = h("input", {type: "range", min: 0, max: 0.99, step: 0.01, value, "aria-label": "Smoothing", oninput: (event) => {
        fill(shown, Number(event.target.value).toFixed(2));
        tell(Number(event.target.value));
    }});
    return h("label", {class: "bar smooth"}, h("span", {class: "dim"}, "Smoothing"), slider, shown);
}

// A button that stays pressed; calls onChange(isOn).
export function toggleButton(label, isOn, onChange, title) {
    const node = button(label, () => {
        isOn = !isOn;
        node.setAttribute("aria-pressed", String(isOn));
        onChange(isOn);
    }, {"aria-pressed": String(isOn), title});
    return node;
}

export const logButtons = ({isLogX, isLogY}, onChange) => ({
    x: toggleButton("log x", isLogX, (isOn) => onChange({isLogX: isOn}), "Logarithmic x axis"),
    y: toggleButton("log y", isLogY, (isOn) => onChange({isLogY: isOn}), "Logarithmic y axis"),
});
