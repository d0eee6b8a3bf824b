// SPDX-License-Identifier: Apache-2.0
// failure_card.js - why a trial failed: how its last run ended, and the last lines of its log.

import {get, stream} from "./api.js";
import {fill, h} from "./dom.js";
import {number, plural} from "./format.js";
import {textNodes} from "./logtext.js";
import {link} from "./router.js";

const LINES = 15; // per stream
const LETTERS = 500; // per line

// The runs, latest first; none for a trial that runs outside the cluster.
async function readRuns({taskId}, signal) {
    if (!taskId) return [];
    try {
        return (await get(`/api/v1/tasks/${encodeURIComponent(taskId)}`, null, {signal})).task.allocations;
    } catch (error) {
        if (error.status === 404) return [];
        throw error;
    }
}

async function readFailure(id, signal) {
    const {trial} = await get(`/api/v1/trials/${id}`, null, {signal});
    const runs = await readRuns(trial, signal);
    const of = runs.length ? {allocationIds: runs[0].allocationId} : {};
    const last = async (filter) => {
        const lines = [];
        await stream(`/api/v1/trials/${id}/logs`, {limit: LINES, orderBy: "ORDER_BY_DESC", ...of, ...filter}, ({result}) => lines.push(result), {signal});
        return lines;
    };
    const [errors, others] = await Promise.all([last({sources: "task", stdtypes: "stderr"}), last({sources: "task", stdtypes: "stdout"})]);
    // The two streams of a program arrive one after the other, so the lines are sorted by time.
    const lines = [...errors, ...others].sort((a, b) => a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : a.id - b.id);
    return {trial, lines: lines.length ? lines : (await last({})).reverse()}; // the program may not have started: show the master's lines
}

const cut = (text) => text.length > LETTERS ? text.slice(0, LETTERS) + " …" : text;

// Returns update(id, end, among): shows why trial `id` failed at `end`, or clears `node` if id is 0.  `among` says how many
// trials failed.
export function failureCard(node, {signal}) {
    let shown = "";
    let known = {of: "", failure: null}; // the trial that was read last
    return async (id, end, among = null) => {
        const of = `${id} ${end}`;
        const now = id ? `${of} ${among?.failed} ${among?.of}` : "";
        if (now === shown) return;
        shown = now;
        if (!id) return fill(node);
        try {
            if (known.of !== of) known = {of, failure: readFailure(id, signal)};
            const {trial, lines} = await known.failure;
            if (now !== shown) return;
            const last = lines.at(-1);
            const address = `/trials/${id}/logs${last ? `?line=${last.id}` : ""}`;
            fill(node, h("section", {class: "card failure", "aria-label": "Why it failed"}, h("h2", among ? [link(among.address, {}, `${number(among.failed)} of ${plural(among.of, "trial")}`), " failed"] : "Why it failed"),
                h("p", `${among ? `The first of them, trial ${id},` : "It"} ended with an error${trial.exitReason ? `: ${trial.exitReason}` : ""}${trial.restarts ? `, after ${plural(trial.restarts, "restart")}` : ""}.`),
                last && h("pre", {tabindex: 0, role: "group", "aria-label": "Last log lines"}, lines.map((line) => [textNodes(cut(line.log.replace(/\n$/, ""))), "\n"])),
                h("p", link(address, {}, `Open the log of trial ${id}`))));
            const words = node.querySelector("pre");
            if (words) words.scrollTop = words.scrollHeight; // the last lines matter most
        } catch (error) {
            if (now === shown) shown = known.of = ""; // the next change tries again
            throw error;
        }
    };
}
