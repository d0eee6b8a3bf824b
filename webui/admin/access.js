// SPDX-License-Identifier: Apache-2.0
// access.js - who may do what in a workspace, and why.
import {get} from "../api.js";
import {fill, h} from "../dom.js";
import {setQuery} from "../router.js";
import {dataTable} from "../table.js";
import {errorBox, select, toastError} from "../widgets.js";
import {readWorkspaces} from "./roles.js";

const REASONS = {
    administrator: () => "administrator", owner: () => "owner of the workspace", user: () => "any user",
    role: (one) => `${one.roleName}${one.scopeCluster ? " on the cluster" : ""}`,
    group: (one) => `${one.roleName} through group ${one.groupName}${one.scopeCluster ? " on the cluster" : ""}`,
};
const words = (id) => id.replace("PERMISSION_TYPE_", "").replace(/NSC$/, "TASK").replaceAll("_", " ").toLowerCase();

const permissionList = (list) => list.length > 0 && h("details", h("summary", String(list.length)), h("ul", list.map((one) => h("li", words(one)))));

const COLUMNS = [
    {id: "user", label: "User", cell: (one) => one.user.username},
    {id: "why", label: "Why", cell: (one) => one.reasons.map((reason, i) => [i > 0 && ", ", (REASONS[reason.kind] || (() => reason.kind))(reason)])},
    {id: "may", label: "May", cell: (one) => permissionList(one.permissions)},
    {id: "own", label: "May with own objects", cell: (one) => permissionList(one.ownPermissions)},
];

export async function show(place, {query, signal}) {
    const workspaces = await readWorkspaces(signal);
    let id = query.workspace || String(workspaces[0]?.[0] ?? 1);
    const list = h("div");
    const table = dataTable({label: "Access", columns: COLUMNS, key: (one) => one.user.id});
    const refresh = async () => {
        try {
            const {users} = await get(`/api/v1/det/workspaces/${encodeURIComponent(id)}/access`, null, {signal});
            table.rows(users);
            fill(list, table.node);
        } catch (error) {
            if (error.name === "AbortError") throw error;
            fill(list, errorBox(error));
        }
    };
    fill(place, h("div", {class: "bar"}, select(workspaces, id, (value) => {
        id = value;
        setQuery({workspace: value});
        refresh().catch(toastError);
    }, {"aria-label": "Workspace"})), list);
    await refresh();
}
