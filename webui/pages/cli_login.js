// SPDX-License-Identifier: Apache-2.0
// cli_login.js - `det user login --sso` opens this page: the signed-in user lets the command on this computer act for them.
//
// The code goes to a port of 127.0.0.1, never to another host, and only the command that knows the verifier of the
// challenge can use it.
import {post} from "../api.js";
import {fill, h} from "../dom.js";
import {session} from "../session.js";
import {errorBox} from "../widgets.js";

export async function page({root, query, title}) {
    title("Sign in a command line");
    const port = Number(query.port);
    if (!Number.isInteger(port) || port < 1 || port > 65535 || !query.challenge || !query.state) {
        fill(root, errorBox("This address is not complete. Run “det user login --sso” again and open the address that it prints."));
        return;
    }
    const name = session.user.displayName || session.user.username;
    const trouble = h("div", {"aria-live": "polite"});
    const leave = (parameters) => location.assign(`http://127.0.0.1:${port}/?` + new URLSearchParams({...parameters, state: query.state}));
    const allow = h("button", {class: "button primary", onclick: async () => {
        allow.disabled = true;
        try {
            leave(await post("/api/v1/det/signin/codes", {challenge: query.challenge}));
        } catch (error) {
            fill(trouble, errorBox(error));
            allow.disabled = false;
        }
    }}, `Sign in as ${session.user.username}`);
    fill(root, h("section", {class: "card signin"}, h("h1", "Sign in a command line"),
        h("p", "A command on ", h("strong", "this computer"), " asks to act as ", h("strong", name), "."),
        h("p", {class: "dim"}, "Allow this only if you have just run “det user login --sso” yourself."), trouble,
        h("p", {class: "bar"}, allow, h("button", {class: "button", onclick: () => leave({error: "refused"})}, "Refuse"))));
    allow.focus();
}
