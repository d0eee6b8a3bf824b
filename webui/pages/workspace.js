// SPDX-License-Identifier: Apache-2.0
// workspace.js - one workspace: its projects, and the defaults of what runs in it.

import {ApiError, get, isAbort, patch, post} from "../api.js";
import {fill, h, throttle} from "../dom.js";
import {ago, number, time} from "../format.js";
import {isId, link, setQuery} from "../router.js";
import {may} from "../rights.js";
import {actionsOf, ask, createProject, crumbs, doing, NAME_MOST, stateChip} from "../spaces.js";
import {dataTable} from "../table.js";
import {button, empty, errorBox, facts, menu, tabs} from "../widgets.js";

const COLUMNS = [
    {id: "name", label: "Name", class: "cut wide-name", sortable: true, cell: (p) => [link(`/projects/${p.id}`, {title: p.name}, p.name), p.archived && h("span", {class: "chip"}, "archived"), stateChip(p), p.description && h("small", {class: "dim"}, p.description)]},
    {id: "key", label: "Key", class: "phone-off", sortable: true, cell: (p) => h("span", {class: "mono"}, p.key)},
    {id: "numExperiments", label: "Experiments", isNumber: true, sortable: true, cell: (p) => number(p.numExperiments)},
    {id: "numActiveExperiments", label: "Active", isNumber: true, sortable: true, class: "phone-off", cell: (p) => number(p.numActiveExperiments)},
    {id: "username", label: "Owner", sortable: true, class: "phone-off", cell: (p) => p.username},
    {id: "lastExperimentStartedAt", label: "Last started", isQuiet: true, sortable: true, class: "phone-off", cell: (p) => p.lastExperimentStartedAt ? h("time", {datetime: p.lastExperimentStartedAt, title: time(p.lastExperimentStartedAt)}, ago(p.lastExperimentStartedAt)) : ""},
];

function sorted(rows, sort) {
    const name = sort.replace("-", "");
    const sign = sort.startsWith("-") ? -1 : 1;
    return [...rows].sort((a, b) => sign * (typeof a[name] === "number" ? a[name] - b[name] : String(a[name] ?? "").localeCompare(String(b[name] ?? ""))));
}

function projectsView(state, query) {
    let sort = String(query.sort || "name");
    const place = h("div");
    const table = dataTable({label: "Projects", columns: COLUMNS, sort, href: (p) => `/projects/${p.id}`, onSort: (to) => {
        sort = to;
        setQuery({sort: to === "name" ? "" : to});
        draw();
    }});
    const archived = h("input", {type: "checkbox", checked: Boolean(query.archived), onchange: (event) => {
        setQuery({archived: event.target.checked ? "1" : ""});
        draw();
    }});
    const isOpen = () => !state.workspace.immutable && !state.workspace.archived && may("CREATE_PROJECT", {workspaceId: state.workspace.id});
    function draw() {
        const rows = sorted(state.projects.filter((p) => archived.checked || state.workspace.archived || !p.archived), sort);
        table.rows(rows);
        fill(place, rows.length ? table.node : empty(h("p", state.projects.length ? "All projects are archived." : "There are no projects yet."),
            isOpen() && button("New project", doing(() => createProject(state.workspace)), {kind: "changes"})));
    }
    return {node: h("div", {class: "stack"}, h("div", {class: "bar"}, h("label", archived, " Show archived")), place), draw};
}

const taskUser = (group) => group && [group.agentUser ?? "", group.agentUid === null ? "" : ` (uid ${group.agentUid})`, group.agentGroup || group.agentGid !== null ? " : " : "", group.agentGroup ?? "", group.agentGid === null ? "" : ` (gid ${group.agentGid})`].join("");

function settingsView(state, changed) {
    const node = h("section", {class: "card"});
    const set = doing(async () => {
        const {workspace} = state;
        const answer = await ask("Default pools", [["defaultComputeResourcePool", "Pool of tasks with slots", workspace.defaultComputePool, {hint: "Empty: the cluster's default"}],
            ["defaultAuxResourcePool", "Pool of tasks without slots", workspace.defaultAuxPool]], "Save");
        if (!answer) return;
        await patch(`/api/v1/workspaces/${workspace.id}`, answer);
        await changed();
    });
    function draw() {
        const {workspace} = state;
        const storage = workspace.checkpointStorageConfig;
        fill(node, h("div", {class: "bar"}, h("h2", "Defaults"), h("span", {class: "grow"}), !workspace.immutable && !workspace.archived && may("SET_WORKSPACE_DEFAULT_RESOURCE_POOL", {workspaceId: workspace.id}) && button("Set pools", set, {icon: "edit", kind: "changes"})),
            h("p", {class: "dim"}, "Used by everything in this workspace whose configuration does not say otherwise."),
            facts([["Pool with slots", workspace.defaultComputePool || "the cluster's default"], ["Pool without slots", workspace.defaultAuxPool || "the cluster's default"],
                ["Checkpoint storage", storage ? h("code", JSON.stringify(storage)) : "the cluster's"], ["Unix user of tasks", taskUser(workspace.agentUserGroup) || "each user's own"]]),
            may("UPDATE_WORKSPACE", {workspaceId: workspace.id, owners: [workspace.userId]}) && h("p", {class: "dim"}, "Storage and Unix user are set with ", h("code", `det workspace edit '${workspace.name}' …`), "."));
    }
    return {node, draw};
}

// Who may do what here, and why; those who assign roles do it here.
const maySeeAccess = (workspace) => may("ASSIGN_ROLES", {workspaceId: workspace.id, owners: [workspace.userId]});

function accessView(state, signal) {
    const node = h("div", {class: "stack"});
    let shownFor = 0;
    return {node, draw() {
        if (shownFor === state.workspace.id) return; // what changes in the workspace does not change who may what
        shownFor = state.workspace.id;
        if (!maySeeAccess(state.workspace)) return fill(node, empty(h("p", "Only those who may assign roles here see who may do what.")));
        import("../admin/access.js").then(({showWorkspace}) => showWorkspace(node, state.workspace, signal)).catch((error) => isAbort(error) || fill(node, errorBox(error)));
    }};
}

export async function page({root, params, query, title, signal, live}) {
    const id = params.id;
    if (!isId(id)) throw new ApiError(404, `there is no workspace '${id}'`);
    const tab = params.tab || "projects";
    const state = {workspace: null, projects: []};
    const head = h("div");

    async function read() {
        const [{workspace}, {projects}] = await Promise.all([get(`/api/v1/workspaces/${id}`, null, {signal}), get(`/api/v1/workspaces/${id}/projects`, null, {signal})]);
        Object.assign(state, {workspace, projects});
    }
    const view = tab === "settings" ? settingsView(state, () => refresh()) : tab === "access" ? accessView(state, signal) : projectsView(state, query);
    function draw() {
        const {workspace} = state;
        const edit = async () => {
            const answer = await ask("Edit workspace", [["name", "Name", workspace.name, {required: true, maxlength: NAME_MOST}]], "Save");
            if (!answer) return;
            await patch(`/api/v1/workspaces/${id}`, answer);
            await refresh();
        };
        title(workspace.name);
        fill(head, crumbs(["/workspaces", "Workspaces"], [null, workspace.name]),
            h("div", {class: "head"}, h("h1", workspace.name, workspace.archived && h("span", {class: "chip"}, "archived"), stateChip(workspace)),
                h("div", {class: "bar changes"}, button(workspace.pinned ? "Unpin" : "Pin", doing(async () => {
                    await post(`/api/v1/workspaces/${id}/${workspace.pinned ? "unpin" : "pin"}`);
                    await refresh();
                }), {icon: "star"}),
                !workspace.immutable && menu("Actions", () => actionsOf("workspace", workspace, {owners: [workspace.userId], changed: refresh, left: "/workspaces", edit})),
                !workspace.immutable && !workspace.archived && may("CREATE_PROJECT", {workspaceId: workspace.id}) && button("New project", doing(() => createProject(workspace)), {kind: "primary", icon: "plus"}))),
            tabs([["projects", "Projects", state.projects.length], maySeeAccess(workspace) && ["access", "Access"], ["settings", "Settings"]], tab, (name) => `/workspaces/${id}/${name}`));
        view.draw();
    }
    const refresh = throttle(async () => {
        await read();
        draw();
    }, 500);
    await read();
    fill(root, head, view.node);
    draw();
    live({kinds: "experiments"}, refresh);
}
