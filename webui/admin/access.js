// SPDX-License-Identifier: Apache-2.0
// access.js - who may do what in a workspace, and why.  Shown under Admin for every workspace, and on the page of each.
import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {may} from "../rights.js";
import {setQuery} from "../router.js";
import {dataTable} from "../table.js";
import {button, empty, errorBox, select, toastError} from "../widgets.js";
import {assignDialog, mayAssign, readAll, readWorkspaces} from "./roles.js";

const REASONS = {
    administrator: () => "administrator", owner: () => "owner of the workspace", user: () => "any user",
    role: (one) => `${one.roleName}${one.scopeCluster ? " on the cluster" : ""}`,
    group: (one) => `${one.roleName} through group ${one.groupName}${one.scopeCluster ? " on the cluster" : ""}`,
};
const words = (id) => id.replace("PERMISSION_TYPE_", "").replace(/NSC$/, "TASK").replaceAll("_", " ").toLowerCase();

// What people ask about, each by the permission that stands for it; `det workspace access` has the same columns.
const ABILITIES = [["View", "VIEW_EXPERIMENT_METADATA", "Look at experiments"], ["Submit", "CREATE_EXPERIMENT", "Create experiments"], ["Tasks", "CREATE_NSC", "Start TensorBoards and jobs"],
    ["Control", "UPDATE_EXPERIMENT", "Pause, cancel, kill and move experiments"], ["Delete", "DELETE_EXPERIMENT", "Delete experiments"], ["Projects", "UPDATE_PROJECT", "Change projects"],
    ["Workspace", "UPDATE_WORKSPACE", "Change the workspace"], ["Roles", "ASSIGN_ROLES", "Assign roles"]];

function answer(one, permission) {
    const id = `PERMISSION_TYPE_${permission}`;
    if (one.permissions.includes(id)) return "yes";
    return one.ownPermissions.includes(id) ? h("span", {title: "Only with own objects"}, "own") : h("span", {class: "dim"}, "–");
}

const permissionList = (one) => h("details", h("summary", String(one.permissions.length + one.ownPermissions.length)),
    h("ul", one.permissions.map((id) => h("li", words(id))), one.ownPermissions.map((id) => h("li", words(id), h("span", {class: "dim"}, " (own)")))));

const COLUMNS = [
    {id: "user", label: "User", cell: (one) => one.user.username},
    {id: "why", label: "Why", cell: (one) => one.reasons.map((reason, i) => [i > 0 && ", ", (REASONS[reason.kind] || (() => reason.kind))(reason)])},
    ...ABILITIES.map(([label, permission, title]) => ({id: permission, label: h("span", {title}, label), class: "phone-off", cell: (one) => answer(one, permission)})),
    {id: "all", label: "Permissions", cell: permissionList},
];

async function accessTable(id, signal) {
    const {mode, users} = await get(`/api/v1/det/workspaces/${encodeURIComponent(id)}/access`, null, {signal});
    const table = dataTable({label: "Access", columns: COLUMNS, key: (one) => one.user.id});
    table.rows(users);
    return [table.node, mode === "basic" && h("p", {class: "dim"}, "“own”: only with own objects. Mode basic: roles are recorded, but have no effect.")];
}

// Reads and draws; an error takes the place of the table.
async function draw(place, id, signal) {
    try {
        fill(place, await accessTable(id, signal));
    } catch (error) {
        if (error.name === "AbortError") throw error;
        fill(place, errorBox(error));
    }
}

// On the page of a workspace.
export async function showWorkspace(place, workspace, signal) {
    const list = h("div", {class: "stack"});
    const refresh = () => draw(list, workspace.id, signal);
    const assign = async () => {
        if (await assignDialog(await readAll(signal), workspace.id)) await refresh();
    };
    fill(place, mayAssign(workspace.id) && h("div", {class: "bar"}, h("span", {class: "grow"}), button("Assign role", () => assign().catch(toastError), {icon: "plus", kind: "primary"})), list);
    await refresh();
}

// Under Admin: the workspaces whose access the user may see.
export async function show(place, {query, signal}) {
    const workspaces = (await readWorkspaces(signal)).filter((one) => may("ASSIGN_ROLES", {workspaceId: one.id, owners: [one.userId]})).map((one) => [one.id, one.name]);
    if (!workspaces.length) return fill(place, empty(h("p", "Those who assign roles in a workspace see here who may do what in it, and why.")));
    let id = workspaces.some(([one]) => String(one) === query.workspace) ? query.workspace : String(workspaces[0][0]);
    const list = h("div", {class: "stack"});
    fill(place, h("div", {class: "bar"}, select(workspaces, id, (value) => {
        id = value;
        setQuery({workspace: value});
        draw(list, id, signal).catch(toastError);
    }, {"aria-label": "Workspace"})), list);
    await draw(list, id, signal);
}
