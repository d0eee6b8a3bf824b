// SPDX-License-Identifier: Apache-2.0
// format.js - formats values the same way on all pages.

// "STATE_COMPLETED" -> "COMPLETED", as on the command line.
export const stateName = (state) => String(state || "").replace(/^(STATE_|GENERIC_TASK_STATE_)/, "");

// The kind of a state decides its colour: see .badge in style.css.
const KINDS = {
    ACTIVE: "busy", RUNNING: "busy", STARTING: "wait", QUEUED: "wait", PULLING: "wait", PENDING: "wait", ASSIGNED: "wait", WAITING: "wait",
    PAUSED: "still", STOPPING_PAUSED: "wait", COMPLETED: "good", STOPPING_COMPLETED: "wait", CANCELED: "still", STOPPING_CANCELED: "wait",
    STOPPING_KILLED: "wait", ERROR: "bad", STOPPING_ERROR: "bad", DELETING: "wait", DELETE_FAILED: "bad", DELETED: "still",
    TERMINATED: "still", TERMINATING: "wait", PARTIALLY_DELETED: "still",
};
export const longTitle = (name) => name.length > 80 ? name : null; // the page may cut it off
export const stateKind = (state) => KINDS[stateName(state)] || "still";
export const isOver = (state) => ["COMPLETED", "CANCELED", "ERROR", "DELETED", "DELETE_FAILED", "TERMINATED"].includes(stateName(state));
// Why an experiment has no best trial.  Its banner names the metric that its validations lack.
export const noBest = ({experiment, metricIsMissing}) => metricIsMissing ? (isOver(experiment.state) ? "No trial could be compared." : "No trial can be compared yet.")
    : isOver(experiment.state) ? "No validation was reported." : "No validation yet.";

// Six significant digits; NaN and infinities by name.
export function number(value) {
    if (value === null || value === undefined || value === "") return "";
    if (typeof value === "string") {
        if (value.trim() === "" || Number.isNaN(Number(value))) return value;
        value = Number(value);
    }
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    const size = Math.abs(value);
    const out = size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(4).replace(/\.?0+e/, "e") : String(Number(value.toPrecision(6)));
    return out.replace("-", "−");
}

// The value of a hyperparameter or of a configuration key, on one line.  Whole numbers (seeds, sizes) as in the configuration,
// without separators.
export function value(any) {
    if (typeof any === "number") return Number.isSafeInteger(any) ? String(any) : number(any);
    if (typeof any === "string") return /^-?Infinity$/.test(any) ? number(any) : any; // as JSON replies write them
    return JSON.stringify(any) ?? "";
}

const UNITS = [["B", 1], ["KB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
export function bytes(count, more = 0) { // `more`: additional digits
    count = Number(count) || 0;
    let [unit, size] = UNITS[0];
    for (const row of UNITS) if (count >= row[1]) [unit, size] = row;
    return `${size === 1 ? Number(count.toFixed(more)) : (count / size).toFixed((count / size < 10 ? 1 : 0) + more)} ${unit}`;
}

// 93784 -> "1d 2h": at most two units.
export function duration(seconds) {
    if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
    if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
    if (seconds < 10) return `${seconds.toFixed(1)} s`;
    const whole = Math.round(seconds);
    const pad = (n) => String(n).padStart(2, "0");
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)}m ${pad(whole % 60)}s`;
    if (whole < 86400) return `${Math.floor(whole / 3600)}h ${pad(Math.floor(whole / 60) % 60)}m`;
    return `${Math.floor(whole / 86400)}d ${Math.floor(whole / 3600) % 24}h`;
}

const pad2 = (n) => String(n).padStart(2, "0");
export function time(iso) { // 2026-11-15 20:37:41, in the browser's time zone
    if (!iso) return "";
    const at = new Date(iso);
    return `${at.getFullYear()}-${pad2(at.getMonth() + 1)}-${pad2(at.getDate())} ${pad2(at.getHours())}:${pad2(at.getMinutes())}:${pad2(at.getSeconds())}`;
}

export function ago(iso) {
    if (!iso) return "";
    const seconds = (Date.now() - new Date(iso)) / 1000;
    if (seconds < 5) return "now";
    if (seconds < 60) return `${Math.floor(seconds)} s ago`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
    return seconds < 86400 * 30 ? `${Math.floor(seconds / 86400)} d ago` : time(iso).slice(0, 10);
}

export const took = (start, end) => start ? duration(((end ? new Date(end) : new Date()) - new Date(start)) / 1000) : "";
export function workTime(experiment) { // seconds, without the pauses
    const {startTime, endTime, pausedSince, pausedSeconds} = experiment;
    if (!startTime) return null;
    const until = pausedSince || endTime;
    return Math.max(0, ((until ? new Date(until) : new Date()) - new Date(startTime)) / 1000 - pausedSeconds);
}
export const percent = (part) => part === null || part === undefined ? "" : `${Math.floor(part * 100)} %`;
export const plural = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;

// The slots of resource pools: used, usable and disabled.
export function slotsOf(pools) {
    const sum = (name) => pools.reduce((all, pool) => all + (pool[name] || 0), 0);
    const off = sum("slotsDisabled");
    return {used: sum("slotsUsed"), usable: sum("slotsAvailable") - off, off, offText: off > 0 ? `${number(off)} disabled` : ""};
}
