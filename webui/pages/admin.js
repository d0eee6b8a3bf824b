// SPDX-License-Identifier: Apache-2.0
// admin.js - users, groups, roles, access tokens, and who may do what.  Everybody may look; the master decides who may
// change something.
import {fill, h} from "../dom.js";
import {session} from "../session.js";
import {tabs} from "../widgets.js";

const TABS = [["users", "Users"], ["groups", "Groups"], ["roles", "Roles"], ["access", "Access"], ["tokens", "Tokens"]];
const LOADERS = {
    users: () => import("../admin/users.js"), groups: () => import("../admin/groups.js"), roles: () => import("../admin/roles.js"),
    access: () => import("../admin/access.js"), tokens: () => import("../admin/tokens.js"),
};

export async function page(ctx) {
    const tab = ctx.params.tab || "users";
    const place = h("section", {class: "stack", "aria-label": TABS.find(([name]) => name === tab)[1]});
    ctx.title(`${TABS.find(([name]) => name === tab)[1]} – Administration`);
    fill(ctx.root, h("div", {class: "head"}, h("div", h("h1", "Administration"),
        h("p", {class: "dim"}, session.master.authzType === "rbac" ? "Mode rbac: roles decide who may do what." : "Mode basic: owners and administrators decide. Roles are recorded, but have no effect."))),
    tabs(TABS, tab, (name) => `/admin/${name}`), place);
    await (await LOADERS[tab]()).show(place, ctx);
}
