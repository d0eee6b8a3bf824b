// SPDX-License-Identifier: Apache-2.0
// form_dialog.js - a dialog with a form: the master's refusal is shown in it, and the entries stay.

import {fill, h} from "../dom.js";
import {button, dialog, errorBox} from "../widgets.js";

// formDialog("Add user", [field(…), …], "Add", async () => …): resolves with what `work` returned, or undefined if the
// user dismissed it.
export function formDialog(title, nodes, label, work, {kind = "primary"} = {}) {
    return dialog(title, (close) => {
        const trouble = h("div", {"aria-live": "polite"});
        const submit = h("button", {class: ["button", kind]}, label);
        return h("form", {class: "stack", onsubmit: async (event) => {
            event.preventDefault();
            submit.disabled = true;
            fill(trouble);
            try {
                close((await work()) ?? true);
            } catch (error) {
                fill(trouble, errorBox(error));
            } finally {
                submit.disabled = false;
            }
        }}, nodes, trouble, h("footer", button("Cancel", () => close()), submit));
    });
}
