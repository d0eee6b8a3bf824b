// SPDX-License-Identifier: Apache-2.0
// saved_views.js - named views of the table of experiments: columns, order, query, filters and grouping.
//
// They are settings of the user on the master, so they follow the user to other browsers.  One setting per view: its key is
// the name, its value the parameters of the address.

import {get, post} from "./api.js";
import {h} from "./dom.js";
import {button, confirm, dialog, field, menu, toast, toastError} from "./widgets.js";

const PLACE = "det/experiments/views";
const ADDRESS = "/api/v1/users/setting";
const NAME_MOST = 60;

async function readViews() {
    const {settings} = await get(ADDRESS);
    return settings.filter((one) => one.storagePath === PLACE).map((one) => ({name: one.key, text: one.value}));
}
const writeView = (name, value) => post(ADDRESS, {settings: [{key: name, storagePath: PLACE, ...(value === null ? {} : {value: JSON.stringify(value)})}]});

// current(): the parameters of the shown view; onChoose(parameters): shows a saved one.
export function savedViews({current, onChoose}) {
    let views = null; // read when the menu first opens
    const opening = async () => views ||= await readViews().catch((error) => {
        toastError(error);
        return null;
    });

    function choose(view) {
        let saved = null;
        try {
            saved = JSON.parse(view.text);
        } catch { /* written by another program */ }
        if (!saved || typeof saved !== "object") return toast(`The view “${view.name}” cannot be read. Delete it, and save it again.`, "bad");
        return onChoose(saved);
    }
    async function save() {
        const input = h("input", {required: true, autofocus: true, maxlength: NAME_MOST});
        const name = await dialog("Save view", (close) => h("form", {onsubmit: (event) => {
            event.preventDefault();
            close(input.value.trim());
        }}, field("Name", input, "Columns, order, query, filters and grouping are saved for you on the master."),
        h("footer", button("Cancel", () => close()), h("button", {type: "submit", class: "button primary"}, "Save"))));
        if (!name) return;
        if (views?.some((one) => one.name === name) && !await confirm("Replace the view?", `There is a view “${name}” already.`, "Replace")) return;
        const value = Object.fromEntries(Object.entries(current()).filter(([, one]) => one !== "" && one !== undefined && (!Array.isArray(one) || one.length)));
        await writeView(name, value);
        views = null;
        toast(`View “${name}” saved.`, "good");
    }
    async function remove(view) {
        if (!await confirm(`Delete the view “${view.name}”?`, "Experiments are not changed.", "Delete view", "danger")) return;
        await writeView(view.name, null);
        views = null;
        toast(`View “${view.name}” deleted.`);
    }
    const doing = (work) => () => Promise.resolve(work()).catch(toastError);

    const node = h("span", {class: "menu-place"});
    const draw = () => node.replaceChildren(menu("Views", () => [
        ...(views || []).map((view) => [view.name, doing(() => choose(view))]),
        ["Save this view …", doing(save)],
        ...(views || []).map((view) => [`Delete “${view.name}” …`, doing(() => remove(view)), {kind: "danger"}]),
    ]));
    draw();
    // The list is read before the menu opens: a click that finds it unread waits for it.
    node.addEventListener("click", async (event) => {
        if (views || !event.target.closest("button[aria-haspopup]")) return;
        event.preventDefault();
        event.stopPropagation();
        if (!await opening()) return;
        node.querySelector("button[aria-haspopup]").click();
    }, true);
    return {node};
}
