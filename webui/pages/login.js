// SPDX-License-Identifier: Apache-2.0
// login.js - signing in.
import {signedIn} from "../app.js";
import {fill, h} from "../dom.js";
import {signIn} from "../session.js";
import {errorBox, field} from "../widgets.js";

export async function page({root, query, title}) {
    title("Sign in");
    const name = h("input", {name: "username", autocomplete: "username", value: "determined", required: true});
    const password = h("input", {name: "password", type: "password", autocomplete: "current-password"});
    const trouble = h("div");
    fill(root, h("form", {class: "card signin", onsubmit: async (event) => {
        event.preventDefault();
        try {
            await signIn(name.value, password.value);
            signedIn(query.next);
        } catch (error) {
            fill(trouble, errorBox(error));
            password.select();
        }
    }}, h("h1", "Sign in"), field("User", name), field("Password", password), trouble, h("button", {class: "button primary"}, "Sign in")));
    name.select();
}
