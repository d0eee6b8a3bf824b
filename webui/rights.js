// SPDX-License-Identifier: Apache-2.0
// rights.js - what the signed-in user may do, so that pages offer only that.  The master decides; this only avoids offers
// that it would refuse.

import {mayChange, session} from "./session.js";

// May the user do this there?  Mode rbac: if a role of the user, in the workspace or on the cluster, has the permission.
// Mode basic: everybody, or, if `owners` are given, these and administrators ([]: administrators only).
export function may(permission, {workspaceId = 0, owners} = {}) {
    const granted = session.permissions;
    if (!mayChange()) return false;
    if (granted) return granted.cluster.includes(permission) || (granted.workspaces[workspaceId] || []).includes(permission);
    return !owners || session.mayAdminister || owners.includes(session.user?.id);
}

// The same for any workspace.
export const maySomewhere = (permission, {owners} = {}) => may(permission, {owners}) ||
    (mayChange() && Object.values(session.permissions?.workspaces || {}).some((list) => list.includes(permission)));

// The reason, for a title; null if the user may.
export const whyNot = (isAllowed) => isAllowed ? null
    : session.permissions ? "Your roles do not allow this. An administrator of the workspace can give you another role." : "Only the owner or an administrator may do this.";

// Whether there may be experiments and tasks that the user does not see.
export const seesOnlySome = () => Boolean(session.permissions && !session.permissions.cluster.includes("VIEW_EXPERIMENT_METADATA"));

const place = (one) => ({workspaceId: one.workspaceId, owners: [one.userId]});
// What the user may do with an experiment (its trials and checkpoints, too), a task, a project.
export const rightsOnExperiment = (one) => ({
    control: may("UPDATE_EXPERIMENT", place(one)), edit: may("UPDATE_EXPERIMENT_METADATA", place(one)), remove: may("DELETE_EXPERIMENT", place(one)),
    fork: may("CREATE_EXPERIMENT", {workspaceId: one.workspaceId}), task: may("CREATE_NSC", {workspaceId: one.workspaceId}),
});
export const mayControlTask = (one) => may("UPDATE_NSC", place(one));
