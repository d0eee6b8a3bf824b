// SPDX-License-Identifier: Apache-2.0
// experiment_logs.js - the log of an experiment with a single trial.

import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {isOver} from "../format.js";
import {link} from "../router.js";
import {empty, errorBox, spinner} from "../widgets.js";

export function logsTab(place, tools) {
    const leave = new AbortController();
    const stops = [];
    let log = null;
    let taskId;
    const ctx = {signal: AbortSignal.any([leave.signal, tools.signal]), onLeave: (fn) => leave.signal.aborted ? fn() : stops.push(fn), keys: tools.keys};

    function drawNone() {
        const {id, isSingle, state: {experiment}} = tools;
        const why = experiment.numTrials ? "The master has no log of this experiment." : isOver(experiment.state) ? "It ended before a trial was created, so there is no log." : "Its trial has not been created yet. Its log will appear here.";
        fill(place, isSingle() ? empty(h("p", why))
            : empty(h("p", "Each trial of a search has its own log."), h("p", link(`/experiments/${id}/trials`, {}, "Choose a trial"))));
    }
    // The trial may be created later.
    let isOpening = false;
    async function open() {
        const [trialId] = tools.state.experiment.trialIds;
        if (log || isOpening) return;
        if (!trialId || !tools.isSingle()) return drawNone();
        isOpening = true;
        try {
            const {trial} = await get(`/api/v1/trials/${trialId}`, null, {signal: ctx.signal});
            if (!trial.taskId) return drawNone();
            const {logView} = await import("../logview.js");
            if (leave.signal.aborted) return;
            fill(place); // the log measures itself, so it is in the page by now
            log = await logView(place, {taskId: trial.taskId, ctx, name: `trial-${trialId}`, isFed: true});
            taskId = trial.taskId;
            tools.listen();
        } finally {
            isOpening = false;
        }
    }
    const update = () => void tools.unlessDeleted(open).catch((error) => leave.signal.aborted || fill(place, errorBox(error)));
    fill(place, spinner());
    update();
    return {
        taskId: () => taskId,
        updateExperiment: update,
        updateLogs: () => log?.readNewLines(),
        destroy() {
            leave.abort();
            for (const stop of stops) stop();
            tools.keys([]);
        },
    };
}
