// SPDX-License-Identifier: Apache-2.0
// workspaces.js - all workspaces, those that the user pinned first, and the projects looked at last.

import {get, post} from "../api.js";
import {debounce, fill, h, throttle} from "../dom.js";
import {plural} from "../format.js";
import {link, setQuery} from "../router.js";
import {may} from "../rights.js";
import {session} from "../session.js";
import {createWorkspace, doing, stateChip} from "../spaces.js";
import {button, empty} from "../widgets.js";

const RECENT = 6;

function card(one, changed) {
    const pin = button("", doing(async () => {
        await post(`/api/v1/workspaces/${one.id}/${one.pinned ? "unpin" : "pin"}`);
        await changed();
    }), {icon: "star", kind: one.pinned ? "plain pinned" : "plain", "aria-pressed": String(one.pinned), "aria-label": `Pin ${one.name}`, title: one.pinned ? "Do not pin" : "Pin"});
    return h("li", {class: "card space"}, h("div", {class: "bar"}, h("h3", link(`/workspaces/${one.id}`, {}, one.name)), h("span", {class: "grow"}), pin),
        h("p", {class: "dim"}, `${plural(one.numProjects, "project")} · ${plural(one.numExperiments, "experiment")} · ${one.username}`),
        (one.archived || stateChip(one)) && h("p", one.archived && h("span", {class: "chip"}, "archived"), stateChip(one)));
}

const recent = (one) => h("li", {class: "card space"}, h("h3", link(`/projects/${one.id}`, {}, one.name)),
    h("p", {class: "dim"}, `${one.workspaceName} · ${plural(one.numExperiments, "experiment")}${one.numActiveExperiments ? `, ${one.numActiveExperiments} active` : ""}`));

export async function page({root, query, title, signal, live}) {
    title("Workspaces");
    const chosen = {q: "", archived: "", ...query};
    let workspaces = [];
    let projects = [];
    const place = h("div");
    const search = h("input", {type: "search", "aria-label": "Search workspaces", placeholder: "Name or owner", value: chosen.q, oninput: debounce((event) => choose({q: event.target.value}), 100)});
    const archived = h("input", {type: "checkbox", checked: Boolean(chosen.archived), onchange: (event) => choose({archived: event.target.checked ? "1" : ""})});

    function choose(changes) {
        Object.assign(chosen, changes);
        setQuery(changes);
        draw();
    }
    function draw() {
        const words = chosen.q.toLowerCase();
        const rows = workspaces.filter((one) => (chosen.archived || !one.archived) && (!words || one.name.toLowerCase().includes(words) || one.username.toLowerCase().includes(words)));
        const group = (label, list) => list.length > 0 && h("section", {"aria-label": label}, h("h2", label), h("ul", {class: "spaces"}, list.map((one) => card(one, refresh))));
        fill(place, group("Pinned", rows.filter((one) => one.pinned)),
            projects.length > 0 && !words && h("section", {"aria-label": "Recent projects"}, h("h2", "Recent projects"), h("ul", {class: "spaces"}, projects.map(recent))),
            group(rows.some((one) => one.pinned) ? "Other workspaces" : "Workspaces", rows.filter((one) => !one.pinned)),
            !rows.length && empty(h("p", workspaces.length || !session.permissions ? "No workspaces match." : "You have no role in any workspace. Ask an administrator for one.")));
    }
    const refresh = throttle(async () => {
        [{workspaces}, {projects}] = await Promise.all([get("/api/v1/workspaces", {sortBy: "SORT_BY_NAME"}, {signal}), get("/api/v1/user/projects/activity", {limit: RECENT}, {signal})]);
        draw();
    }, 500);

    fill(root, h("div", {class: "head"}, h("h1", "Workspaces"), may("CREATE_WORKSPACE") && button("New workspace", doing(createWorkspace), {kind: "primary changes", icon: "plus"})),
        h("div", {class: "bar"}, search, h("label", archived, " Show archived")), place);
    await refresh();
    live({kinds: "experiments"}, refresh);
}
