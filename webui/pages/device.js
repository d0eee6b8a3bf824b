// SPDX-License-Identifier: Apache-2.0
// device.js - the page for the code that `det user login --device` prints.  The user types the code: an address that
// contained it could be sent to them by somebody else.
import {get, post} from "../api.js";
import {fill, h} from "../dom.js";
import {ago} from "../format.js";
import {session} from "../session.js";
import {errorBox, facts, field} from "../widgets.js";

export async function page({root, title}) {
    title("Sign in another computer");
    const code = h("input", {name: "code", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", placeholder: "BCDF-GHJK", required: true, maxlength: 12});
    const trouble = h("div", {"aria-live": "polite"});
    const address = () => "/api/v1/det/signin/devices/" + encodeURIComponent(code.value.trim());
    const decide = async (isAllowed) => {
        try {
            await post(address(), {isAllowed});
            fill(root, h("section", {class: "card signin"}, h("h1", isAllowed ? "Signed in" : "Refused"),
                h("p", isAllowed ? "The other computer is signed in. You can close this page." : "The other computer gets no access.")));
        } catch (error) {
            fill(trouble, errorBox(error));
        }
    };
    const ask = (device) => fill(root, h("section", {class: "card signin"}, h("h1", "Sign in another computer"),
        h("p", "A command line asks to act as ", h("strong", session.user.displayName || session.user.username), "."),
        facts([["Code", device.userCode], ["Computer", device.host || "not named"], ["Address", device.address], ["Asked", ago(device.createdAt)]]),
        h("p", {class: "dim"}, "Allow this only if you have just run “det user login --device” there yourself."), trouble,
        h("p", {class: "bar"}, h("button", {class: "button primary", onclick: () => decide(true)}, "Allow"), h("button", {class: "button", onclick: () => decide(false)}, "Refuse"))));
    fill(root, h("form", {class: "card signin", onsubmit: async (event) => {
        event.preventDefault();
        try {
            ask(await get(address()));
        } catch (error) {
            fill(trouble, errorBox(error));
            code.select();
        }
    }}, h("h1", "Sign in another computer"), field("Code", code, "As “det user login --device” prints it."), trouble, h("button", {class: "button primary"}, "Continue")));
    code.focus();
}
