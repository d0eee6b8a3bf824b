// SPDX-License-Identifier: Apache-2.0
// tokens.js - access tokens: all for administrators, else the user's own.
import {get, patch, post} from "../api.js";
import {fill, h} from "../dom.js";
import {ago, plural, time} from "../format.js";
import {formDialog} from "./form_dialog.js";
import {may} from "../rights.js";
import {setQuery} from "../router.js";
import {session} from "../session.js";
import {dataTable} from "../table.js";
import {button, confirm, copyButton, dialog, empty, field, menu, select, toast, toastError} from "../widgets.js";

const LIFESPANS = [["", "Default"], ["24h", "1 day"], ["168h", "7 days"], ["720h", "30 days"], ["-1", "Longest allowed"]];

// The token is shown once; the master does not keep it.
const showToken = (token) => dialog("New access token", (close) => [h("p", "Copy the token now: it is not shown again."),
    h("pre", {class: "token", tabindex: 0}, h("code", token)), h("footer", copyButton(token), button("Done", () => close(true), {kind: "primary"}))]);

// In mode rbac there is a role for those who manage their own tokens.
const mayForOthers = (permission) => may(permission, {owners: []});
const mayCreate = () => may("CREATE_TOKEN", {owners: []}) || mayForOthers("CREATE_OTHER_TOKEN");
const mayUpdate = (token) => mayForOthers("ADMINISTRATE_TOKEN") || (token.userId === session.user.id && may("UPDATE_TOKEN", {owners: []}));

async function addToken(signal) {
    const users = mayForOthers("CREATE_OTHER_TOKEN") ? (await get("/api/v1/users", {active: true, sortBy: "SORT_BY_USER_NAME"}, {signal})).users : [session.user];
    const chosen = {userId: session.user.id, lifespan: ""};
    const about = h("input", {maxlength: 200, autocomplete: "off"});
    const made = await formDialog("Create access token", [
        field("Acts as", select(users.map((user) => [user.id, user.username]), chosen.userId, (value) => chosen.userId = Number(value))),
        field("Description", about, "The purpose of the token."), field("Expires after", select(LIFESPANS, "", (value) => chosen.lifespan = value)),
    ], "Create", () => post("/api/v1/tokens", {userId: chosen.userId, description: about.value, lifespan: chosen.lifespan || undefined}));
    if (made) await showToken(made.token);
    return made;
}

async function describeToken(token) {
    const about = h("input", {maxlength: 200, value: token.description, autocomplete: "off"});
    return formDialog(`Token ${token.id}`, [field("Description", about)], "Save", () => patch(`/api/v1/tokens/${token.id}`, {description: about.value, setRevoked: false}));
}

async function revokeToken(token) {
    if (!await confirm(`Revoke token ${token.id}?`, "Programs that use it get no access any more. This cannot be undone.", "Revoke", "danger")) return undefined;
    await patch(`/api/v1/tokens/${token.id}`, {setRevoked: true});
    toast(`Token ${token.id} is revoked`, "good");
    return true;
}

const stateOf = (token) => token.revoked ? ["REVOKED", "bad"] : new Date(token.expiry) <= new Date() ? ["EXPIRED", "still"] : ["ACTIVE", "good"];
const when = (text) => h("time", {datetime: text, title: time(text)}, time(text));

const columns = (refresh) => [
    {id: "UNSPECIFIED", label: "ID", sortable: true, isNumber: true, cell: (token) => token.id},
    {id: "USER_ID", label: "User", sortable: true, cell: (token) => token.username},
    {id: "DESCRIPTION", label: "Description", sortable: true, class: "cut", cell: (token) => token.description},
    {id: "REVOKED", label: "State", sortable: true, cell: (token) => h("span", {class: ["badge", stateOf(token)[1]]}, stateOf(token)[0])},
    {id: "EXPIRY", label: "Expires", sortable: true, isQuiet: true, class: "phone-off", cell: (token) => when(token.expiry)},
    {id: "CREATED_AT", label: "Created", sortable: true, isQuiet: true, class: "phone-off", cell: (token) => h("time", {datetime: token.createdAt, title: time(token.createdAt)}, ago(token.createdAt))},
    mayCreate() && {id: "actions", label: "", cell: (token) => mayUpdate(token) && stateOf(token)[0] === "ACTIVE" && menu("", () => [
        ["Change the description", () => describeToken(token).then((isDone) => isDone && refresh()).catch(toastError)],
        ["Revoke", () => revokeToken(token).then((isDone) => isDone && refresh()).catch(toastError), {kind: "danger"}],
    ], {"aria-label": `Actions for token ${token.id}`, kind: "plain"})},
].filter(Boolean);

export async function show(place, {query, signal}) {
    const chosen = {inactive: query.inactive || "", sort: query.sort || "UNSPECIFIED"};
    const counted = h("span", {class: "dim", role: "status"});
    const list = h("div");
    const refresh = async () => {
        const {tokenInfo} = await get("/api/v1/tokens", {showInactive: chosen.inactive ? true : undefined, sortBy: `SORT_BY_${chosen.sort.replace("-", "")}`,
            orderBy: chosen.sort.startsWith("-") ? "ORDER_BY_DESC" : "ORDER_BY_ASC"}, {signal});
        counted.textContent = plural(tokenInfo.length, "token");
        table.rows(tokenInfo);
        fill(list, tokenInfo.length ? table.node : empty(h("p", "No access tokens. Programs use them instead of a password."), mayCreate() && h("pre", h("code", "det token create --description nightly"))));
    };
    const choose = (changes) => {
        Object.assign(chosen, changes);
        setQuery({...changes, sort: chosen.sort === "UNSPECIFIED" ? "" : chosen.sort});
        refresh().catch(toastError);
    };
    const table = dataTable({label: "Access tokens", columns: columns(() => refresh().catch(toastError)), sort: chosen.sort, onSort: (sort) => choose({sort})});
    fill(place, h("div", {class: "bar"}, h("label", h("input", {type: "checkbox", checked: Boolean(chosen.inactive), onchange: (event) => choose({inactive: event.target.checked ? "1" : ""})}), " Show expired and revoked"), counted,
        h("span", {class: "grow"}), mayCreate() && button("Create token", () => addToken(signal).then((isDone) => isDone && refresh()).catch(toastError), {kind: "primary", icon: "plus"})), list);
    await refresh();
}
