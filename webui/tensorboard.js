// SPDX-License-Identifier: Apache-2.0
// tensorboard.js - "Open in TensorBoard", from any page.
//
//   await openTensorBoard({experimentIds: [1, 2], trialIds: [7]})
//
// One that shows the same and still runs is opened again; else one is started.  A new tab can only
// be opened while people's click lasts, so it is opened at once and shows the address of the
// TensorBoard, where the master says "starting" and looks again by itself until it is there.  A
// browser that opens no tab gets a dialog with the link when it is ready.

import {get, post} from "./api.js";
import {fill, h} from "./dom.js";
import {stateName} from "./format.js";
import {button, dialog, errorBox, spinner, toast} from "./widgets.js";
import {link} from "./router.js";

const POLL_MS = 500;

const sameIds = (a, b) => [...new Set(a || [])].sort().join() === [...new Set(b || [])].sort().join();

async function findOrStart(experimentIds, trialIds) {
    const {tensorboards} = await get("/api/v1/tensorboards");
    const old = tensorboards.find((one) => sameIds(one.experimentIds, experimentIds) && sameIds(one.trialIds, trialIds) &&
        !["TERMINATING", "TERMINATED"].includes(stateName(one.state)));
    if (old) return old;
    return (await post("/api/v1/tensorboards", {experimentIds, trialIds})).tensorboard;
}

const WORDS = {QUEUED: "It waits for its turn.", PULLING: "It is being prepared.", STARTING: "It is starting: this takes a few seconds, or a minute or two where TensorBoard has to be installed first."};

// What is happening, until it can be looked at or the dialog is left.
async function waitFor(board, isLeft, show) {
    for (;;) {
        const {tensorboard} = await get(`/api/v1/tensorboards/${board.id}`);
        const state = stateName(tensorboard.state);
        if (state === "RUNNING") return tensorboard;
        if (["TERMINATING", "TERMINATED"].includes(state)) throw new Error(`the TensorBoard has ended: ${tensorboard.exitStatus || "its log says why"}`);
        show(WORDS[state] || "");
        await new Promise((done) => setTimeout(done, POLL_MS));
        if (isLeft()) return null;
    }
}

function progress(board, openTab) {
    let isLeft = false;
    return dialog("TensorBoard", (close) => {
        const words = h("p", {role: "status"}, WORDS.STARTING);
        const place = h("div", {class: "tensorboard-wait"}, spinner("Starting …"), words);
        const logs = h("p", link(`/tasks/${board.id}/logs`, {onclick: () => close()}, "Its log"));
        waitFor(board, () => isLeft, (text) => words.textContent = text).then((ready) => {
            if (!ready) return;
            if (openTab(ready.serviceAddress)) return close();
            fill(place, h("p", "It is ready."), h("a", {class: "button primary", href: ready.serviceAddress, target: "_blank", rel: "noopener", onclick: () => close()}, "Open TensorBoard"));
        }, (error) => fill(place, errorBox(error)));
        return [place, logs, h("footer", button("Close", () => close()))];
    }).finally(() => isLeft = true);
}

// Resolves once it is open, or given up.
export async function openTensorBoard({experimentIds = [], trialIds = []}) {
    const tab = window.open("about:blank", "_blank"); // now, or the browser takes it for an advertisement
    try {
        const board = await findOrStart(experimentIds, trialIds);
        if (tab) {
            tab.opener = null;
            tab.location = board.serviceAddress;
            if (stateName(board.state) !== "RUNNING") toast("TensorBoard is starting in a new tab");
            return;
        }
        await progress(board, () => false);
    } catch (error) {
        tab?.close();
        throw error;
    }
}
