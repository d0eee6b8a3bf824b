// SPDX-License-Identifier: Apache-2.0
import {fill, h} from "../dom.js";

export async function page({root, title}) {
    title("trial");
    fill(root, h("h1", "trial"));
}
