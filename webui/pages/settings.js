// SPDX-License-Identifier: Apache-2.0
// settings.js - profile, appearance, password and facts about the master.
import {patch, post} from "../api.js";
import {fill, h} from "../dom.js";
import {time} from "../format.js";
import {go, link} from "../router.js";
import {session, setTheme, signIn, signOut, theme} from "../session.js";
import {errorBox, facts, field, freshId, toast, workButton} from "../widgets.js";

const LEAST = 8; // characters, as on the command line
const THEMES = [["", "System"], ["light", "Light"], ["dark", "Dark"]];

function profileCard() {
    const {user} = session;
    const name = h("input", {value: user.displayName || "", maxlength: 100, autocomplete: "name", placeholder: user.username});
    const save = workButton("Save", async () => {
        session.user = (await patch(`/api/v1/users/${user.id}`, {displayName: name.value.trim()})).user;
        document.dispatchEvent(new Event("sessionchange"));
        toast("Saved", "good");
    });
    return h("section", {class: "card changes"}, h("h2", "Profile"),
        facts([["User", user.username], !session.permissions && ["Role", user.admin ? "Administrator" : "User"], ["Last sign-in", time(user.lastAuthAt)]]),
        h("form", {class: "inline", onsubmit: (event) => {
            event.preventDefault();
            save.click();
        }}, field("Display name", name), save),
        h("p", link("/admin/tokens", {}, "Access tokens"), ", ", link("/admin/groups", {}, "groups"), " and ", link("/admin/roles", {}, "roles")),
        h("footer", workButton("Sign out", async () => {
            await signOut();
            go("/login");
        }, {kind: "danger"})));
}

// Radio buttons that look like one control: arrow keys move between them, and screen readers count them.
function appearanceCard() {
    const group = freshId("theme");
    return h("section", {class: "card"}, h("h2", "Appearance"),
        h("fieldset", {class: "segments"}, h("legend", {class: "hidden"}, "Theme"), THEMES.map(([value, label]) => h("label",
            h("input", {type: "radio", name: group, value, checked: theme() === value, onchange: () => setTheme(value)}), label))),
        h("p", {class: "dim"}, "Saved in this browser."));
}

// A new password ends all sessions of the user, also those of the command line; this page signs in again.
function passwordCard() {
    const {user} = session;
    const make = (name, autocomplete) => h("input", {type: "password", name, autocomplete});
    const old = make("old", "current-password");
    const fresh = make("new", "new-password");
    const again = make("again", "new-password");
    const trouble = h("div", {"aria-live": "polite"});
    const submit = h("button", {class: "button primary"}, "Change password");
    const check = () => {
        if (fresh.value.length < LEAST) throw new Error(`a password must have at least ${LEAST} characters`);
        if (fresh.value !== again.value) throw new Error("the two passwords differ");
    };
    const change = async () => {
        check();
        await post("/api/v1/auth/login", {username: user.username, password: old.value}).catch((error) => {
            throw error.status === 401 ? new Error("the current password is wrong") : error;
        });
        await patch(`/api/v1/users/${user.id}`, {password: fresh.value, isHashed: false});
        await signIn(user.username, fresh.value);
    };
    return h("form", {class: "card changes", onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        fill(trouble);
        try {
            await change();
            event.target.reset();
            toast("Password changed. All your other sessions have ended.", "good");
        } catch (error) {
            fill(trouble, errorBox(error));
        } finally {
            submit.disabled = false;
        }
    }}, h("h2", "Password"), h("input", {class: "hidden", autocomplete: "username", value: user.username, tabindex: -1, "aria-label": "User", readonly: true}),
    field("Current password", old, "Leave empty if you have no password yet."), field("New password", fresh), field("Confirm password", again), trouble, submit);
}

function masterCard() {
    const {master: is} = session;
    return h("section", {class: "card"}, h("h2", "This master"),
        facts([["Cluster", is.clusterName || "–"], ["Address", h("code", location.origin)], ["Version", `det ${is.detVersion}`], ["API", `Determined ${is.version}`], ["Cluster ID", h("span", {class: "mono"}, is.clusterId)]]),
        h("p", h("a", {href: "/docs"}, "Documentation"), h("span", {class: "dim"}, " – the guide and the references of this version")),
        h("p", h("a", {href: "/docs/calls"}, "API reference"), h("span", {class: "dim"}, " – used by these pages and the command line")));
}

export async function page({root, title}) {
    title("Settings");
    fill(root, h("h1", "Settings"), h("div", {class: "cards"}, h("div", {class: "stack"}, profileCard(), appearanceCard()), h("div", {class: "stack"}, passwordCard(), masterCard())));
}
