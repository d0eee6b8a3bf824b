// SPDX-License-Identifier: Apache-2.0
// users.js - the table of users: add, edit, activate, deactivate, link to a Unix user.
import {get, patch, post} from "../api.js";
import {debounce, fill, h} from "../dom.js";
import {ago, plural, time} from "../format.js";
import {formDialog} from "./form_dialog.js";
import {setQuery} from "../router.js";
import {session} from "../session.js";
import {dataTable} from "../table.js";
import {button, empty, field, menu, toast, toastError} from "../widgets.js";

const LEAST = 8; // characters of a password, as on the command line

const tick = (label, checked) => {
    const box = h("input", {type: "checkbox", checked});
    return {box, node: h("label", {class: "tick-line"}, box, ` ${label}`)};
};

async function addUser() {
    const name = h("input", {required: true, minlength: 2, maxlength: 64, autocomplete: "off"});
    const display = h("input", {maxlength: 64, autocomplete: "off"});
    const password = h("input", {type: "password", autocomplete: "new-password"});
    const admin = tick("Administrator", false);
    return formDialog("Add user", [field("User name", name), field("Display name", display), field("Password", password, `At least ${LEAST} characters.`), admin.node], "Add", async () => {
        if (password.value.length < LEAST) throw new Error(`a password must have at least ${LEAST} characters`);
        await post("/api/v1/users", {user: {username: name.value, displayName: display.value, admin: admin.box.checked, active: true}, password: password.value});
        toast(`Added ${name.value.trim()}`, "good");
    });
}

async function editUser(user) {
    const name = h("input", {required: true, minlength: 2, maxlength: 64, value: user.username, autocomplete: "off", disabled: user.remote});
    const display = h("input", {maxlength: 64, value: user.displayName || "", autocomplete: "off"});
    const admin = tick("Administrator", user.admin);
    return formDialog(`Edit ${user.username}`, [field("User name", name, user.remote && "Another service manages this user."), field("Display name", display), admin.node], "Save", async () => {
        const change = {displayName: display.value, admin: admin.box.checked};
        if (!user.remote && name.value !== user.username) change.username = name.value;
        await patch(`/api/v1/users/${user.id}`, change);
        toast("Saved", "good");
    });
}

async function linkUser(user) {
    const now = user.agentUserGroup || {};
    const make = (key, attributes) => h("input", {value: now[key] ?? "", autocomplete: "off", ...attributes});
    const uid = make("agentUid", {type: "number", min: 0, max: 4294967294});
    const gid = make("agentGid", {type: "number", min: 0, max: 4294967294});
    const name = make("agentUser");
    const group = make("agentGroup");
    const all = [uid, name, gid, group];
    return formDialog(`Unix user of ${user.username}`, [h("p", {class: "dim"}, "Agents that run as root start this user's tasks as this Unix user. Leave all empty to remove the link."),
        field("User ID", uid), field("User", name), field("Group ID", gid), field("Group", group)], "Save", async () => {
        const isEmpty = all.every((one) => !one.value);
        await patch(`/api/v1/users/${user.id}`, {agentUserGroup: isEmpty ? {} : {
            agentUid: uid.value ? Number(uid.value) : null, agentGid: gid.value ? Number(gid.value) : null, agentUser: name.value, agentGroup: group.value}});
        toast(isEmpty ? "The link is removed" : "Linked", "good");
    });
}

async function setPassword(user) {
    const password = h("input", {type: "password", autocomplete: "new-password"});
    return formDialog(`New password of ${user.username}`, [field("Password", password, `At least ${LEAST} characters. All sessions of the user end.`)], "Set password", async () => {
        if (password.value.length < LEAST) throw new Error(`a password must have at least ${LEAST} characters`);
        await patch(`/api/v1/users/${user.id}`, {password: password.value, isHashed: false});
        toast("Password changed", "good");
    });
}

async function setActive(user, activate) {
    const {results} = await patch("/api/v1/users", {userIds: [user.id], activate});
    if (results[0].error) throw new Error(results[0].error);
    toast(`${user.username} is ${activate ? "active" : "deactivated: its sessions and tokens have ended"}`, "good");
}

function actions(user, refresh) {
    const then = (work) => () => Promise.resolve(work()).then((isDone) => isDone !== undefined && refresh()).catch(toastError);
    return menu("", () => [
        ["Edit", then(() => editUser(user))],
        !user.remote && ["Set password", then(() => setPassword(user))],
        ["Link to a Unix user", then(() => linkUser(user))],
        user.active ? ["Deactivate", then(() => setActive(user, false).then(() => true)), {kind: "danger"}]
            : ["Activate", then(() => setActive(user, true).then(() => true))],
    ], {"aria-label": `Actions for ${user.username}`, kind: "plain"});
}

const columns = (refresh) => [
    {id: "USER_NAME", label: "User", sortable: true, cell: (user) => user.username},
    {id: "DISPLAY_NAME", label: "Display name", sortable: true, class: "cut phone-off", cell: (user) => user.displayName || ""},
    !session.permissions && {id: "ADMIN", label: "Role", sortable: true, cell: (user) => user.admin ? "Administrator" : "User"},
    {id: "ACTIVE", label: "State", sortable: true, cell: (user) => h("span", {class: ["badge", user.active ? "good" : "still"]}, user.active ? "ACTIVE" : "INACTIVE")},
    {id: "REMOTE", label: "Signs in", sortable: true, class: "phone-off", cell: (user) => user.remote ? "elsewhere" : "with a password"},
    {id: "unix", label: "Unix user", class: "phone-off", cell: (user) => user.agentUserGroup ? `${user.agentUserGroup.agentUser} (${user.agentUserGroup.agentUid})` : ""},
    {id: "LAST_AUTH_TIME", label: "Last sign-in", sortable: true, isQuiet: true, class: "phone-off", cell: (user) => user.lastAuthAt ? h("time", {datetime: user.lastAuthAt, title: time(user.lastAuthAt)}, ago(user.lastAuthAt)) : "never"},
    session.mayAdminister && {id: "actions", label: "", cell: (user) => actions(user, refresh)},
].filter(Boolean);

export async function show(place, {query, signal}) {
    const chosen = {q: query.q || "", sort: query.sort || "USER_NAME", inactive: query.inactive || ""};
    const counted = h("span", {class: "dim", role: "status"});
    const list = h("div");
    const refresh = async () => {
        const {users} = await get("/api/v1/users", {
            name: chosen.q, active: chosen.inactive ? undefined : true, sortBy: `SORT_BY_${chosen.sort.replace("-", "")}`,
            orderBy: chosen.sort.startsWith("-") ? "ORDER_BY_DESC" : "ORDER_BY_ASC"}, {signal});
        counted.textContent = plural(users.length, "user");
        table.rows(users);
        fill(list, users.length ? table.node : empty(h("p", "No users match.")));
    };
    const choose = (changes) => {
        Object.assign(chosen, changes);
        setQuery({...changes, sort: chosen.sort === "USER_NAME" ? "" : chosen.sort});
        refresh().catch(toastError);
    };
    const table = dataTable({label: "Users", columns: columns(() => refresh().catch(toastError)), sort: chosen.sort, onSort: (sort) => choose({sort})});
    fill(place, h("div", {class: "bar"},
        h("input", {type: "search", placeholder: "Name", "aria-label": "Search users", value: chosen.q, oninput: debounce((event) => choose({q: event.target.value}), 150)}),
        h("label", h("input", {type: "checkbox", checked: Boolean(chosen.inactive), onchange: (event) => choose({inactive: event.target.checked ? "1" : ""})}), " Show inactive"), counted,
        h("span", {class: "grow"}), session.mayAdminister && button("Add user", () => addUser().then((isDone) => isDone && refresh()).catch(toastError), {kind: "primary", icon: "plus"})), list);
    await refresh();
}
