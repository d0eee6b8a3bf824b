// SPDX-License-Identifier: Apache-2.0
// missing.js - an address that nothing has.
import {fill, h} from "../dom.js";
import {link} from "../router.js";

export async function page({root, title}) {
    title("Not here");
    fill(root, h("h1", "There is no such page"), h("p", "Nothing has the address ", h("code", location.pathname), "."), h("p", link("/", {}, "Go to the first page"), " or ", link("/experiments", {}, "look through the experiments"), "."));
}
