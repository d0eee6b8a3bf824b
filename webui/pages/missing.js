// SPDX-License-Identifier: Apache-2.0
// missing.js - an address that nothing has.
import {fill, h} from "../dom.js";
import {link} from "../router.js";

export async function page({root, title}) {
    title("Not here");
    fill(root, h("div", {class: "missing-box"},
        h("p", {class: "missing-code", "aria-hidden": "true"}, "404"),
        h("h1", "There is no such page"),
        h("p", {class: "dim"}, "Nothing has the address ", h("code", location.pathname), ". It may have been typed wrong, or belong to another version."),
        h("p", {class: "bar"}, link("/", {class: "button primary"}, "Home"), link("/experiments", {class: "button"}, "Experiments"))));
}
