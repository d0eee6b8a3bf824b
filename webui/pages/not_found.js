// SPDX-License-Identifier: Apache-2.0
// not_found.js - the page of an unknown address.
import {fill, h} from "../dom.js";
import {link} from "../router.js";

export async function page({root, title}) {
    title("Page not found");
    fill(root, h("div", {class: "missing-box"},
        h("p", {class: "missing-code", "aria-hidden": "true"}, "404"),
        h("h1", "Page not found"),
        h("p", {class: "dim"}, "There is no page at ", h("code", location.pathname), ". The address may be mistyped or belong to another version."),
        h("p", {class: "bar"}, link("/", {class: "button primary"}, "Home"), link("/experiments", {class: "button"}, "Experiments"))));
}
