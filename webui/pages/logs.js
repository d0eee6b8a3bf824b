// SPDX-License-Identifier: Apache-2.0
// logs.js - the page of a task's log: /logs/TASK.

import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {logView} from "../logview.js";
import {link} from "../router.js";

// Title and links of the log's owner: the address names only the task.
async function origin(taskId, signal) {
    const {trialId, experimentId} = await get(`/api/v1/det/tasks/${encodeURIComponent(taskId)}/lines`, {count: 1}, {signal});
    if (!trialId) return {title: "Logs of a task", name: `task-${taskId}`, links: [link(`/tasks/${encodeURIComponent(taskId)}`, {class: "mono"}, taskId)]};
    return {
        title: `Logs of trial ${trialId}`, name: `trial-${trialId}`,
        links: [link(`/experiments/${experimentId}`, {}, `Experiment ${experimentId}`), link(`/trials/${trialId}`, {}, `Trial ${trialId}`)],
    };
}

export async function page(ctx) {
    const taskId = ctx.params.id;
    const from = await origin(taskId, ctx.signal);
    const place = h("div");
    ctx.title(from.title);
    fill(ctx.root, h("div", {class: "head"}, h("h1", from.title), h("div", {class: "bar"}, from.links)), place);
    await logView(place, {taskId, ctx, name: from.name});
}
