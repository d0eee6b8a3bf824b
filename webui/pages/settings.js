// SPDX-License-Identifier: Apache-2.0
// settings.js - who is signed in, how the pages look, what is at the other end.
import {patch, post} from "../api.js";
import {fill, h} from "../dom.js";
import {time} from "../format.js";
import {go} from "../router.js";
import {session, setTheme, signIn, signOut, theme} from "../session.js";
import {errorBox, facts, field, freshId, toast, workButton} from "../widgets.js";

const LEAST = 8; // characters, as the command line wants them
const THEMES = [["", "As the system"], ["light", "Light"], ["dark", "Dark"]];

function you() {
    const {user} = session;
    const name = h("input", {value: user.displayName || "", maxlength: 100, autocomplete: "name", placeholder: user.username});
    const save = workButton("Save", async () => {
        session.user = (await patch(`/api/v1/users/${user.id}`, {displayName: name.value.trim()})).user;
        document.dispatchEvent(new Event("sessionchange"));
        toast("Saved", "good");
    });
    return h("section", {class: "card changes"}, h("h2", "You"),
        facts([["User", user.username], ["Role", user.admin ? "Administrator" : "User"], ["Signed in", time(user.lastAuthAt)]]),
        h("form", {class: "inline", onsubmit: (event) => {
            event.preventDefault();
            save.click();
        }}, field("Display name", name), save),
        h("footer", workButton("Sign out", async () => {
            await signOut();
            go("/login");
        }, {kind: "danger"})));
}

// Radio buttons that look like one control: arrow keys move, screen readers count.
function look() {
    const group = freshId("theme");
    return h("section", {class: "card"}, h("h2", "Look"),
        h("fieldset", {class: "segments"}, h("legend", {class: "hidden"}, "Theme"), THEMES.map(([value, label]) => h("label",
            h("input", {type: "radio", name: group, value, checked: theme() === value, onchange: () => setTheme(value)}), label))),
        h("p", {class: "dim"}, "Kept in this browser."));
}

// Changing it closes all sessions of this user, also those of the command line; this one begins anew.
function password() {
    const {user} = session;
    const make = (name, autocomplete) => h("input", {type: "password", name, autocomplete});
    const old = make("old", "current-password");
    const fresh = make("new", "new-password");
    const again = make("again", "new-password");
    const trouble = h("div", {"aria-live": "polite"});
    const submit = h("button", {class: "button primary"}, "Change password");
    const check = () => {
        if (fresh.value.length < LEAST) throw new Error(`a password has at least ${LEAST} characters`);
        if (fresh.value !== again.value) throw new Error("the two passwords differ");
    };
    const change = async () => {
        check();
        await post("/api/v1/auth/login", {username: user.username, password: old.value}).catch((error) => {
            throw error.status === 401 ? new Error("this is not your present password") : error;
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
            toast("Your password is changed. All your other sessions have ended.", "good");
        } catch (error) {
            fill(trouble, errorBox(error));
        } finally {
            submit.disabled = false;
        }
    }}, h("h2", "Password"), h("input", {class: "hidden", autocomplete: "username", value: user.username, tabindex: -1, "aria-label": "User", readonly: true}),
    field("Present password", old, "Leave it empty when there is none yet."), field("New password", fresh), field("Again", again), trouble, submit);
}

function master() {
    const {master: is} = session;
    return h("section", {class: "card"}, h("h2", "This master"),
        facts([["Cluster", is.clusterName || "–"], ["Address", h("code", location.origin)], ["Version", `det ${is.detVersion}`], ["API", `Determined ${is.version}`], ["Cluster id", h("span", {class: "mono"}, is.clusterId)]]),
        h("p", h("a", {href: "/docs"}, "All calls of this master"), h("span", {class: "dim"}, " – what these pages and the command line use")));
}

export async function page({root, title}) {
    title("Settings");
    fill(root, h("h1", "Settings"), h("div", {class: "cards"}, h("div", {class: "stack"}, you(), look()), h("div", {class: "stack"}, password(), master())));
}
