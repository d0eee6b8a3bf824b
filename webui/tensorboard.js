// SPDX-License-Identifier: Apache-2.0
// tensorboard.js - "Open in TensorBoard", from any page.
//
//   await openTensorBoard({experimentIds: [1, 2], trialIds: [7], workspaceId: 1})
//
// Opens a running TensorBoard of the same experiments and trials, or starts one.  A browser opens a new tab only during a
// click, so the tab is opened at once with the TensorBoard's address; there the master shows "starting" and reloads until
// it is ready.  If the browser blocks the tab, a dialog shows the link when the TensorBoard is ready.

import {get, post} from "./api.js";
import {fill, h} from "./dom.js";
import {stateName} from "./format.js";
import {link} from "./router.js";
import {button, dialog, errorBox, spinner, toast} from "./widgets.js";

const POLL_MS = 500;

const sameIds = (a, b) => [...new Set(a || [])].sort().join() === [...new Set(b || [])].sort().join();

async function findOrStart(experimentIds, trialIds, workspaceId) {
    const {tensorboards} = await get("/api/v1/tensorboards");
    const old = tensorboards.find((one) => sameIds(one.experimentIds, experimentIds) && sameIds(one.trialIds, trialIds) &&
        !["TERMINATING", "TERMINATED"].includes(stateName(one.state)));
    if (old) return old;
    return (await post("/api/v1/tensorboards", {experimentIds, trialIds, workspaceId})).tensorboard;
}

const STATE_TEXTS = {QUEUED: "Waiting in the queue.", PULLING: "Preparing the environment.", STARTING: "Starting. This takes a few seconds, or a minute or two if TensorBoard must be installed first."};

// Shows the state until the TensorBoard runs or the user closes the dialog (then null).
async function waitFor(board, isLeft, show) {
    for (;;) {
        const {tensorboard} = await get(`/api/v1/tensorboards/${board.id}`);
        const state = stateName(tensorboard.state);
        if (state === "RUNNING") return tensorboard;
        if (["TERMINATING", "TERMINATED"].includes(state)) throw new Error(`the TensorBoard ended: ${tensorboard.exitStatus || "see its log"}`);
        show(STATE_TEXTS[state] || "");
        await new Promise((done) => setTimeout(done, POLL_MS));
        if (isLeft()) return null;
    }
}

function waitDialog(board, openTab) {
    let isLeft = false;
    return dialog("TensorBoard", (close) => {
        const words = h("p", {role: "status"}, STATE_TEXTS.STARTING);
        const place = h("div", {class: "tensorboard-wait"}, spinner("Starting …"), words);
        const logs = h("p", link(`/tasks/${board.id}/logs`, {onclick: () => close()}, "Log"));
        waitFor(board, () => isLeft, (text) => words.textContent = text).then((ready) => {
            if (!ready) return;
            if (openTab(ready.serviceAddress)) return close();
            fill(place, h("p", "TensorBoard is ready."), h("a", {class: "button primary", href: ready.serviceAddress, target: "_blank", rel: "noopener", onclick: () => close()}, "Open TensorBoard"));
        }, (error) => fill(place, errorBox(error)));
        return [place, logs, h("footer", button("Close", () => close()))];
    }).finally(() => isLeft = true);
}

// Resolves when the TensorBoard is open or the user has closed the dialog.
export async function openTensorBoard({experimentIds = [], trialIds = [], workspaceId}) {
    const tab = window.open("about:blank", "_blank"); // before any await, or the browser blocks it as a pop-up
    try {
        const board = await findOrStart(experimentIds, trialIds, workspaceId);
        if (tab) {
            tab.opener = null;
            tab.location = board.serviceAddress;
            if (stateName(board.state) !== "RUNNING") toast("TensorBoard is starting in a new tab");
            return;
        }
        await waitDialog(board, () => false);
    } catch (error) {
        tab?.close();
        throw error;
    }
}
