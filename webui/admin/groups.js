// SPDX-License-Identifier: Apache-2.0
// groups.js - groups of users and their members.
import {del, get, post, put} from "../api.js";
import {fill, h} from "../dom.js";
import {formDialog} from "./form_dialog.js";
import {may} from "../rights.js";
import {button, chip, confirm, empty, field, menu, select, toast, toastError} from "../widgets.js";

const MOST = 500;
const mayChangeGroups = () => may("UPDATE_GROUP", {owners: []});

async function readGroups(signal) {
    const {groups} = await post("/api/v1/groups/search", {limit: MOST}, {signal});
    return (await Promise.all(groups.map(({group}) => get(`/api/v1/groups/${group.groupId}`, null, {signal})))).map((reply) => reply.group);
}

const nameDialog = (title, name, label, work) => {
    const input = h("input", {required: true, maxlength: 64, value: name, autocomplete: "off"});
    return formDialog(title, [field("Name", input)], label, () => work(input.value));
};

function addMember(group, users) {
    const left = users.filter((user) => !group.users.some((member) => member.id === user.id));
    let id = left[0]?.id;
    if (!left.length) return toast("All users are members already.");
    return formDialog(`Add a member to ${group.name}`, [field("User", select(left.map((user) => [user.id, user.displayName ? `${user.username} (${user.displayName})` : user.username]), id, (value) => id = Number(value)))], "Add",
        () => put(`/api/v1/groups/${group.groupId}`, {groupId: group.groupId, addUsers: [id]}));
}

function groupCard(group, users, refresh) {
    const then = (work) => () => Promise.resolve(work()).then((isDone) => isDone && refresh()).catch(toastError);
    const remove = (user) => then(() => put(`/api/v1/groups/${group.groupId}`, {groupId: group.groupId, removeUsers: [user.id]}));
    return h("section", {class: "card", "aria-label": `Group ${group.name}`}, h("div", {class: "head"}, h("h2", group.name),
        mayChangeGroups() && menu("Actions", () => [
            ["Add a member", then(() => addMember(group, users))],
            ["Rename", then(() => nameDialog(`Rename ${group.name}`, group.name, "Rename", (name) => put(`/api/v1/groups/${group.groupId}`, {groupId: group.groupId, name})))],
            ["Delete", then(async () => await confirm(`Delete ${group.name}?`, "Its members lose the roles that they have through it.", "Delete", "danger") && del(`/api/v1/groups/${group.groupId}`)), {kind: "danger"}],
        ], {"aria-label": `Actions for ${group.name}`})),
    group.users.length ? h("div", {class: "bar"}, group.users.map((user) => chip(user.username, mayChangeGroups() ? remove(user) : null))) : h("p", {class: "dim"}, "No members."));
}

export async function show(place, {signal}) {
    const list = h("div", {class: "cards"});
    const refresh = async () => {
        const [groups, {users}] = await Promise.all([readGroups(signal), get("/api/v1/users", {active: true, sortBy: "SORT_BY_USER_NAME"}, {signal})]);
        fill(list, groups.length ? groups.map((group) => groupCard(group, users, () => refresh().catch(toastError))) : empty(h("p", "No groups yet. A group's roles are roles of its members.")));
    };
    fill(place, mayChangeGroups() && h("div", {class: "bar"}, h("span", {class: "grow"}),
        button("Add group", () => nameDialog("Add group", "", "Add", (name) => post("/api/v1/groups", {name})).then((isDone) => isDone && refresh()).catch(toastError), {kind: "primary", icon: "plus"})), list);
    await refresh();
}
