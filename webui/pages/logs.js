// SPDX-License-Identifier: Apache-2.0
// logs.js - a task's log as a page of its own: /logs/TASK.

import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {logView} from "../logview.js";
import {link} from "../router.js";

// "3.<uuid>" is the task of a trial of experiment 3; other tasks are jobs.
async function origin(taskId, signal) {
    const experiment = taskId.match(/^(\d+)\./)?.[1];
    if (!experiment) return {title: "Logs of a task", links: [link(`/tasks/${encodeURIComponent(taskId)}`, {}, taskId)]};
    const {trials} = await get(`/api/v1/experiments/${experiment}/trials`, {limit: 1000}, {signal});
    const trial = trials.find((one) => one.taskId === taskId || one.taskIds?.includes(taskId));
    return {
        title: trial ? `Logs of trial ${trial.id}` : "Logs", name: trial && `trial-${trial.id}`,
        links: [link(`/experiments/${experiment}`, {}, `Experiment ${experiment}`), trial && link(`/trials/${trial.id}`, {}, `Trial ${trial.id}`)],
    };
}

export async function page(ctx) {
    const taskId = ctx.params.id;
    await get(`/api/v1/tasks/${encodeURIComponent(taskId)}`, {}, {signal: ctx.signal});
    const from = await origin(taskId, ctx.signal).catch(() => ({title: "Logs", links: []}));
    const place = h("div");
    ctx.title(from.title);
    fill(ctx.root, h("div", {class: "head"}, h("h1", from.title), h("div", {class: "bar"}, from.links)), place);
    await logView(place, {taskId, ctx, name: from.name || `task-${taskId}`});
}
