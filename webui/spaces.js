// SPDX-License-Identifier: Apache-2.0
// spaces.js - what the pages about workspaces and projects have in common: dialogs, menus, the way back.

import {del, get, patch, post} from "./api.js";
import {h} from "./dom.js";
import {plural} from "./format.js";
import {go, link} from "./router.js";
import {may, whyNot} from "./rights.js";
import {button, confirm, dialog, field, icon, select, toast, toastError} from "./widgets.js";

export const NAME_MOST = 80;

// "Workspaces / Vision / digits": links to what is above; the last entry is the page itself.
export const crumbs = (...parts) => h("nav", {class: "crumbs", "aria-label": "Path"}, h("ol", parts.map(([address, text]) => h("li", address ? link(address, {}, text) : text))));

// A form in a dialog: rows of [name, label, value, {hint, maxlength, required, isLong}].  Resolves with {name: text}.
export function ask(title, rows, yes) {
    const inputs = rows.map(([name, label, value = "", {hint, isLong, ...more} = {}], i) => {
        const input = h(isLong ? "textarea" : "input", {name, value, autofocus: i === 0, ...(isLong ? {rows: 4} : {}), ...more});
        return [input, field(label, input, hint)];
    });
    return dialog(title, (close) => h("form", {onsubmit: (event) => {
        event.preventDefault();
        close(Object.fromEntries(inputs.map(([input]) => [input.name, input.value.trim()])));
    }}, inputs.map(([, node]) => node), h("footer", button("Cancel", () => close()), h("button", {type: "submit", class: "button primary"}, yes))));
}

// Runs a call that changes something, and shows its error.
export const doing = (work) => async () => {
    try {
        await work();
    } catch (error) {
        if (error.status !== 401) toastError(error);
    }
};

export async function createWorkspace() {
    const answer = await ask("New workspace", [["name", "Name", "", {required: true, maxlength: NAME_MOST}]], "Create");
    if (!answer) return;
    const {workspace} = await post("/api/v1/workspaces", answer);
    go(`/workspaces/${workspace.id}`);
}

export async function createProject(workspace) {
    const answer = await ask(`New project in ${workspace.name}`, [["name", "Name", "", {required: true, maxlength: NAME_MOST}], ["description", "Description", "", {isLong: true}],
        ["key", "Key", "", {maxlength: 5, pattern: "[A-Za-z0-9]{1,5}", hint: "1 to 5 letters or digits; made from the name if empty"}]], "Create");
    if (!answer) return;
    const {project} = await post(`/api/v1/workspaces/${workspace.id}/projects`, answer);
    go(`/projects/${project.id}`);
}

// Renames, archives and deletes.  `kind` is "workspace" or "project"; `owners` may change it in mode basic; `changed`
// draws the page again; `left` is the address to go to when it is deleted.
export function actionsOf(kind, space, {owners, changed, left, edit}) {
    const address = `/api/v1/${kind}s/${space.id}`;
    const place = {workspaceId: kind === "workspace" ? space.id : space.workspaceId, owners};
    const mayEdit = may(`UPDATE_${kind.toUpperCase()}`, place);
    const mayDelete = may(`DELETE_${kind.toUpperCase()}`, place);
    const verb = space.archived ? "unarchive" : "archive";
    const remove = async () => {
        const what = kind === "workspace" ? `its ${plural(space.numProjects, "project")} and ${plural(space.numExperiments, "experiment")}` : `its ${plural(space.numExperiments, "experiment")}`;
        if (!await confirm(`Delete ${kind} ${space.name}?`, `It is deleted with ${what}, their metrics, logs and checkpoints. This cannot be undone.`, "Delete", "danger")) return;
        const {completed} = await del(address);
        toast(completed ? `${space.name} is deleted.` : `${space.name} is being deleted.`, "good");
        go(left);
    };
    return [
        ["Edit …", doing(edit), {disabled: !mayEdit || space.archived, title: whyNot(mayEdit)}],
        [space.archived ? "Unarchive" : "Archive", doing(async () => {
            await post(`${address}/${verb}`);
            await changed();
        }), {disabled: !mayEdit, title: whyNot(mayEdit)}],
        ["Delete …", doing(remove), {disabled: !mayDelete, kind: "danger", title: whyNot(mayDelete)}],
    ];
}

export async function editProject(project) {
    const answer = await ask("Edit project", [["name", "Name", project.name, {required: true, maxlength: NAME_MOST}], ["description", "Description", project.description, {isLong: true}],
        ["key", "Key", project.key, {required: true, maxlength: 5, pattern: "[A-Za-z0-9]{1,5}"}]], "Save");
    if (answer) await patch(`/api/v1/projects/${project.id}`, answer);
    return Boolean(answer);
}

// The projects in which the user may create experiments.
export async function openProjects(options) {
    const {projects} = await get("/api/v1/workspaces/0/projects", {sortBy: "SORT_BY_NAME"}, options);
    return projects.filter((one) => !one.archived && one.state === "WORKSPACE_STATE_UNSPECIFIED" && may("CREATE_EXPERIMENT", {workspaceId: one.workspaceId}));
}

// A link to the page that creates an experiment.
export const newExperiment = (project, label = "New experiment") => link(`/experiments/new${project ? `?project=${project.id}` : ""}`, {class: "button changes"}, icon("plus"), label);

// Asks for a project that takes experiments; undefined if the user gives up.
export async function chooseProject(title, options) {
    const open = await openProjects(options);
    let chosen = String(open[0]?.id);
    const list = select(open.map((one) => [String(one.id), `${one.workspaceName} / ${one.name}`]), chosen, (value) => chosen = value, {autofocus: true});
    const id = await dialog(title, (close) => h("form", {onsubmit: (event) => {
        event.preventDefault();
        close(chosen);
    }}, field("Project", list), h("footer", button("Cancel", () => close()), h("button", {type: "submit", class: "button primary"}, "Move"))));
    return open.find((one) => String(one.id) === id);
}

// A project that is being deleted, or could not be.
export const stateChip = (space) => space.state === "WORKSPACE_STATE_DELETING" ? h("span", {class: "chip"}, "being deleted")
    : space.state === "WORKSPACE_STATE_DELETE_FAILED" ? h("span", {class: "chip", title: space.errorMessage}, "could not be deleted") : null;
