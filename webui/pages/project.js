// SPDX-License-Identifier: Apache-2.0
// project.js - one project: the table of its experiments, and its notes.

import {ApiError, get, post} from "../api.js";
import {fill, h} from "../dom.js";
import {isId} from "../router.js";
import {may} from "../rights.js";
import {mayChange} from "../session.js";
import {actionsOf, crumbs, doing, editProject, newExperiment, stateChip} from "../spaces.js";
import {empty, menu, tabs} from "../widgets.js";

const nothingYet = (project) => empty(h("p", "There are no experiments in this project yet."), may("CREATE_EXPERIMENT", {workspaceId: project.workspaceId}) && [
    h("p", "Create one: ", newExperiment(project), " or ", h("code", `det experiment create config.yaml . --project_id ${project.id}`)),
    h("p", "or name it in the configuration: ", h("code", `workspace: ${project.workspaceName}`), " and ", h("code", `project: ${project.name}`))]);

export async function page(ctx) {
    const {root, params, title, signal} = ctx;
    const id = params.id;
    if (!isId(id)) throw new ApiError(404, `there is no project '${id}'`);
    const tab = params.tab || "experiments";
    let project = null;
    let workspace = null;
    const head = h("div");
    const body = h("div", {class: "stack"});

    const mayCreate = () => !project.archived && !workspace.archived && may("CREATE_EXPERIMENT", {workspaceId: project.workspaceId});
    async function read() {
        ({project} = await get(`/api/v1/projects/${id}`, null, {signal}));
        ({workspace} = await get(`/api/v1/workspaces/${project.workspaceId}`, null, {signal})); // its owner may change the project, too
    }
    function draw() {
        title(project.name);
        fill(head, crumbs(["/workspaces", "Workspaces"], [`/workspaces/${project.workspaceId}`, project.workspaceName], [null, project.name]),
            h("div", {class: "head"}, h("h1", project.name, " ", h("span", {class: "chip mono"}, project.key), project.archived && h("span", {class: "chip"}, "archived"), stateChip(project)),
                h("div", {class: "bar changes"}, mayCreate() && newExperiment(project), !project.immutable && menu("Actions", () => actionsOf("project", project, {
                    owners: [project.userId, workspace.userId], changed: refresh, left: `/workspaces/${project.workspaceId}`, edit: async () => await editProject(project) && refresh()})))),
            project.description && h("p", {class: "dim"}, project.description),
            tabs([["experiments", "Experiments", project.numExperiments], ["notes", "Notes", project.notes.length]], tab, (name) => `/projects/${id}/${name}`));
    }
    const refresh = async () => {
        await read();
        draw();
    };

    await read();
    draw();
    fill(root, head, body);
    if (mayChange()) void doing(() => post("/api/v1/users/activity", {activityType: "ACTIVITY_TYPE_GET", entityType: "ENTITY_TYPE_PROJECT", entityId: Number(id)}))();
    if (tab === "notes") {
        const {showNotes} = await import("./project_notes.js");
        await showNotes(body, project, refresh);
    } else {
        const {showExperiments} = await import("./experiments.js");
        await showExperiments({...ctx, root: body}, {within: {projectIds: id}, workspaceId: project.workspaceId, none: () => nothingYet(project)});
    }
}
