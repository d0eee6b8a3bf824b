// SPDX-License-Identifier: Apache-2.0
// experiment_lineage.js - what an experiment was forked from, and the forks of it.

import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {number} from "../format.js";
import {link} from "../router.js";
import {badge, errorBox, spinner} from "../widgets.js";

function experimentNode(one, extra) {
    if (one.isGone) return h("div", {class: "kin gone"}, h("span", {class: "num"}, `Experiment ${one.id}`), h("span", {class: "dim"}, "deleted"));
    return h("div", {class: ["kin", extra]}, link(`/experiments/${one.id}`, {"aria-current": extra === "self" ? "true" : null}, h("span", {class: "num"}, one.id), " ", one.name), badge(one.state));
}

const sourceCheckpoint = (one) => h("div", {class: "kin start"}, h("span", "checkpoint ", h("code", {title: one.uuid}, one.uuid.slice(0, 8))),
    one.isGone ? h("span", {class: "dim"}, "no longer available") : h("span", {class: "dim"}, "of ", link(`/trials/${one.trialId}`, {}, `trial ${one.trialId}`), ` after ${number(one.steps)} steps`, one.state !== "COMPLETED" && `, now ${one.state.toLowerCase()}`));

export function lineageTab(place, tools) {
    async function read() {
        const {ancestors, forks, checkpoints} = await get(`/api/v1/det/experiments/${tools.id}/lineage`, null, {signal: tools.signal});
        const self = {...tools.state.experiment, isGone: false};
        const isAlone = !ancestors.length && !forks.length && !checkpoints.length;
        fill(place, h("section", {class: "card"}, h("h2", "Ancestors and forks"),
            h("div", {class: "tree"},
                h("ol", {class: "line", "aria-label": "Ancestors, oldest first"}, [...ancestors].reverse().map((one) => h("li", experimentNode(one))),
                    checkpoints.map((one) => h("li", {class: "side"}, sourceCheckpoint(one))), h("li", {class: "here"}, experimentNode(self, "self"),
                        forks.length > 0 && h("ol", {class: "branches", "aria-label": "Forks"}, forks.map((one) => h("li", experimentNode(one))))))),
            isAlone && h("p", {class: "dim"}, "It was created from a file and has no forks yet. Continuing an experiment does not create a new one: its trial continues, and the trial’s charts and logs show its runs.")));
    }
    fill(place, spinner());
    tools.unlessDeleted(read).catch((error) => fill(place, errorBox(error)));
    return {updateExperiment: () => void tools.unlessDeleted(read).catch(() => {})};
}
