// SPDX-License-Identifier: Apache-2.0
// session.js - the signed-in user and the theme.

import {get, post} from "./api.js";
import {startChangesAt} from "./change_stream.js";

// From /api/v1/master.  permissions: {cluster: [names], workspaces: {id: [names]}} in mode rbac, else null (rights.js).
export const session = {user: null, master: null, mayAdminister: false, permissions: null};

// False in `det ui`, which is read-only.  Controls that change or start something have the class "changes", or are left
// out.
export const mayChange = () => !session.master?.isReadOnly;

const SIGNED_OUT = "det.signedOut"; // the user signed out: do not sign them in again
const THEME = "det.theme";

// People of an identity provider or a directory do not act as `determined`.
const signsInElsewhere = () => session.master.ssoProviders?.length > 0 || session.master.plainPasswords;

const isLoopback = () => ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

// Resolves with true if a user is signed in afterwards.  On the local machine it signs in as `determined`, who has no
// password until one is set, unless people sign in elsewhere.
export async function resumeSession() {
    session.master = await get("/api/v1/master"); // also says who we are; anonymous is not an error here
    session.user = session.master.user ?? null;
    session.mayAdminister = session.master.mayAdminister ?? false;
    session.permissions = session.master.permissions ?? null;
    startChangesAt(session.master.changesAt);
    document.documentElement.toggleAttribute("data-read-only", !mayChange());
    if (session.user) return true;
    if (!isLoopback() || localStorage.getItem(SIGNED_OUT) || signsInElsewhere() || !session.master.usersWithoutPassword?.includes("determined")) return false;
    try {
        await signIn("determined", "");
        return true;
    } catch (error) {
        if (error.status === 0) throw error;
        return false;
    }
}

export async function signIn(username, password) {
    const {user, mayAdminister, permissions} = await post("/api/v1/auth/login", {username, password});
    localStorage.removeItem(SIGNED_OUT);
    Object.assign(session, {user, mayAdminister, permissions: permissions ?? null});
}

export async function signOut() {
    localStorage.setItem(SIGNED_OUT, "1");
    session.user = null;
    await post("/api/v1/auth/logout");
}

// ---- theme: "light", "dark", or "" for the system setting ----

export const theme = () => localStorage.getItem(THEME) || "";

export function setTheme(name) {
    if (name) localStorage.setItem(THEME, name);
    else localStorage.removeItem(THEME);
    applyTheme();
}

export function applyTheme() {
    if (theme()) document.documentElement.dataset.theme = theme();
    else delete document.documentElement.dataset.theme;
    document.dispatchEvent(new Event("themechange")); // charts draw again
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
