// SPDX-License-Identifier: Apache-2.0
// roles.js - roles, their permissions, and who has them.
import {get, post} from "../api.js";
import {fill, h} from "../dom.js";
import {plural} from "../format.js";
import {formDialog} from "./form_dialog.js";
import {may, maySomewhere} from "../rights.js";
import {button, chip, field, select, toastError} from "../widgets.js";

const MOST = 500;
const ON_CLUSTER = "0";

// In mode rbac, administrators of a workspace assign roles there.
export const mayAssign = (workspaceId = 0) => may("ASSIGN_ROLES", {workspaceId, owners: []});
export const readWorkspaces = (signal) => get("/api/v1/workspaces", {limit: MOST}, {signal}).then(({workspaces}) => workspaces);

export async function readAll(signal) {
    const [{roles}, {users}, {groups}, workspaces] = await Promise.all([
        post("/api/v1/roles/search", {limit: MOST}, {signal}), get("/api/v1/users", {sortBy: "SORT_BY_USER_NAME"}, {signal}),
        post("/api/v1/groups/search", {limit: MOST}, {signal}), readWorkspaces(signal)]);
    const found = await post("/api/v1/roles/search/by-ids", {roleIds: roles.map((role) => role.roleId)}, {signal});
    return {roles: found.roles, users, groups: groups.map((one) => one.group), workspaces: workspaces.map((one) => [one.id, one.name])};
}

const bodyFor = (who, role, workspace) => {
    const [kind, id] = who.split(" ");
    const roleAssignment = {role: {roleId: Number(role)}, ...(workspace === ON_CLUSTER ? {scopeCluster: true} : {scopeWorkspaceId: Number(workspace)})};
    return kind === "user" ? {userRoleAssignments: [{userId: Number(id), roleAssignment}]} : {groupRoleAssignments: [{groupId: Number(id), roleAssignment}]};
};

// Only where the user may; in one workspace, if `only` is its number.
export function assignDialog({roles, users, groups, workspaces}, only = 0) {
    const places = [...(mayAssign() && !only ? [[ON_CLUSTER, "The whole cluster"]] : []), ...workspaces.filter(([id]) => (!only || id === only) && mayAssign(id))];
    const fitting = mayAssign() && !only ? roles : roles.filter(({role}) => role.scopeTypeMask.workspace);
    const chosen = {who: `user ${users[0].id}`, role: fitting[0].role.roleId, workspace: String(places[0][0])};
    const people = [...users.map((user) => [`user ${user.id}`, user.username]), ...groups.map((group) => [`group ${group.groupId}`, `Group ${group.name}`])];
    return formDialog("Assign a role", [
        field("To", select(people, chosen.who, (who) => chosen.who = who)),
        field("Role", select(fitting.map(({role}) => [role.roleId, role.name]), chosen.role, (role) => chosen.role = role)),
        field("Where", select(places, chosen.workspace, (workspace) => chosen.workspace = workspace)),
    ], "Assign", () => post("/api/v1/roles/add-assignments", bodyFor(chosen.who, chosen.role, chosen.workspace)));
}

function holders({role, userRoleAssignments, groupRoleAssignments}, {users, groups, workspaces}, refresh) {
    const where = ({scopeCluster, scopeWorkspaceId}) => scopeCluster ? "cluster" : workspaces.find(([id]) => id === scopeWorkspaceId)?.[1] || `workspace ${scopeWorkspaceId}`;
    const one = (kind, id, name, assignment) => chip(`${name} · ${where(assignment)}`, mayAssign(assignment.scopeCluster ? 0 : assignment.scopeWorkspaceId) ? () =>
        post("/api/v1/roles/remove-assignments", bodyFor(`${kind} ${id}`, role.roleId, assignment.scopeCluster ? ON_CLUSTER : assignment.scopeWorkspaceId)).then(refresh).catch(toastError) : null);
    return [...userRoleAssignments.map((row) => one("user", row.userId, users.find((user) => user.id === row.userId)?.username || `user ${row.userId}`, row.roleAssignment)),
        ...groupRoleAssignments.map((row) => one("group", row.groupId, `group ${groups.find((group) => group.groupId === row.groupId)?.name || row.groupId}`, row.roleAssignment))];
}

function roleCard(found, all, refresh) {
    const chips = holders(found, all, refresh);
    return h("section", {class: "card", "aria-label": `Role ${found.role.name}`}, h("div", {class: "head"}, h("h2", found.role.name),
        h("span", {class: "dim"}, found.role.scopeTypeMask.workspace ? "cluster or workspace" : "cluster only")),
    chips.length ? h("div", {class: "bar"}, chips) : h("p", {class: "dim"}, "Nobody has this role."),
    h("details", h("summary", plural(found.role.permissions.length, "permission")), h("ul", found.role.permissions.map((permission) => h("li", permission.name)))));
}

export async function show(place, {signal}) {
    const list = h("div", {class: "cards"});
    let all = null;
    const refresh = async () => {
        all = await readAll(signal);
        fill(list, all.roles.map((found) => roleCard(found, all, () => refresh().catch(toastError))));
    };
    fill(place, maySomewhere("ASSIGN_ROLES", {owners: []}) && h("div", {class: "bar"}, h("span", {class: "grow"}),
        button("Assign role", () => assignDialog(all).then((isDone) => isDone && refresh()).catch(toastError), {kind: "primary", icon: "plus"})), list);
    await refresh();
}
