// SPDX-License-Identifier: Apache-2.0
// session.js - who is signed in, and how the page looks to them.

import {get, post} from "./api.js";
import {listenFrom} from "./live.js";

export const session = {user: null, master: null, mayAdminister: false}; // of /api/v1/master

// Whether anything can be changed or started here: `det ui` only shows.  What does so has the class "changes", or
// is left out.
export const mayChange = () => !session.master?.isReadOnly;

const LEFT = "det.signedOut"; // the person signed out: do not sign them in again
const THEME = "det.theme";

const isLoopback = () => ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

// True when somebody is signed in afterwards.  On one's own machine the first user has no
// password until somebody sets one, so that there is nothing to type.
export async function resume() {
    session.master = await get("/api/v1/master"); // and whom it takes us for: nobody is no error there
    session.user = session.master.user ?? null;
    session.mayAdminister = session.master.mayAdminister ?? false;
    listenFrom(session.master.changesAt);
    document.documentElement.toggleAttribute("data-read-only", !mayChange());
    if (session.user) return true;
    if (!isLoopback() || localStorage.getItem(LEFT)) return false;
    try {
        await signIn("determined", "");
        return true;
    } catch (error) {
        if (error.status === 0) throw error;
        return false;
    }
}

export async function signIn(username, password) {
    const {user, mayAdminister} = await post("/api/v1/auth/login", {username, password});
    localStorage.removeItem(LEFT);
    Object.assign(session, {user, mayAdminister});
}

export async function signOut() {
    localStorage.setItem(LEFT, "1");
    session.user = null;
    await post("/api/v1/auth/logout");
}

// ---- theme: "light", "dark", or "" as the system says ----

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
