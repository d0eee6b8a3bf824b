// SPDX-License-Identifier: Apache-2.0
// app.js - the frame around every page.
//
//   address --ROUTES--> module --page(ctx)--> <main>
//
// A page is a module that exports page(ctx).  `ctx` has
//
//   params, query   the parameters in the address
//   root            the element to fill
//   title(text)     sets the title of the browser tab and of the history entry
//   live(filters, fn)  calls fn(changes) when something changes (change_stream.js); one stream per page; returns
//                   a function that ends it, for a page that wants other filters
//   onLeave(fn)     calls fn when the user leaves the page
//   keys(rows)      [["n", "Next page", fn], …]: shortcuts of the page; a row without fn is only listed under "?"
//   signal          an AbortSignal that aborts the calls of a page the user has left
//
// To add a page: add a row to ROUTES and a module to pages/.  To show it in the navigation: add a row to PLACES.

import {ApiError, get, whenDiskFull, whenSignedOut} from "./api.js";
import {followChanges} from "./change_stream.js";
import {cancelDebounced, fill, h} from "./dom.js";
import {BASE, go, link, match, readQuery, whenMoved} from "./router.js";
import {applyTheme, mayChange, resumeSession, session} from "./session.js";
import {dialog, errorBox, facts, icon, spinner} from "./widgets.js";

// [addresses, module, {tab: modules that the page imports for that tab}].  tools/embed-webui reads this table, too: the
// master sends those modules as preload links with the page, and answers 404 for an address that is not in the table.
const ROUTES = [
    ["/", "dashboard"],
    ["/login", "login"],
    ["/cli-login", "cli_login"],
    ["/device", "device"],
    ["/workspaces", "workspaces"],
    ["/workspaces/:id/:tab?", "workspace", {"": "", projects: "", access: "../admin/access", settings: ""}],
    ["/projects/:id/:tab?", "project", {"": "experiments", experiments: "experiments", notes: "project_notes"}],
    ["/experiments", "experiments"],
    ["/experiments/new", "experiment_new"],
    ["/experiments/:id/:tab?", "experiment", {"": "experiment_overview", overview: "experiment_overview", metrics: "experiment_overview trial_metrics", logs: "experiment_logs ../logview", trials: "experiment_tables", search: "experiment_search",
        checkpoints: "experiment_tables checkpoint_table", configuration: "experiment_files", code: "experiment_files", notes: "experiment_notes", lineage: "experiment_lineage"}],
    ["/trials/:id/:tab? /experiments/:experiment/trials/:id/:tab?", "trial", {"": "trial_metrics", overview: "trial_metrics", metrics: "trial_metrics", hyperparameters: "", profiler: "trial_profile", media: "trial_media", checkpoints: "trial_checkpoints checkpoint_table checkpoint_files", logs: "../logview"}],
    ["/compare", "compare"],
    ["/tasks", "tasks"],
    ["/tasks/:id/:tab?", "task", {"": "", overview: "", configuration: "", logs: "../logview"}],
    ["/logs/:id", "logs"],
    ["/cluster", "cluster"],
    ["/cluster/history", "cluster_history"],
    ["/cluster/log", "cluster_log"],
    ["/admin/:tab?", "admin", {"": "../admin/users", users: "../admin/users", groups: "../admin/groups", roles: "../admin/roles", access: "../admin/access", tokens: "../admin/tokens"}],
    ["/settings", "settings"],
    ["/audit", "audit"],
];

// Pages without an entry in the navigation highlight the entry of their parent.
const PARENT_PLACES = {projects: "/workspaces", trials: "/experiments", compare: "/experiments", logs: "/tasks"};

const PLACES = [ // [address, label, whether it needs a cluster, whether it is for administrators]; models will be added here
    ["/", "Home"],
    ["/workspaces", "Workspaces", true],
    ["/experiments", "Experiments"],
    ["/tasks", "Tasks", true],
    ["/cluster", "Cluster", true],
    ["/admin", "Admin", true, true],
    ["/audit", "Audit log", true, true],
];

const main = h("main", {id: "main", tabindex: -1});
const nav = h("nav", {class: "places", "aria-label": "Main"});
const person = h("div", {class: "person"});
const banner = h("div", {class: "banner", role: "status", hidden: true});
const diskBanner = h("div", {class: "banner", role: "status", hidden: true});

let leavePage = null; // ends the current page
let shown = ""; // the module and parameters of the current page
let pageKeys = []; // shortcuts of the current page
let isSignedIn = false;

const currentRoute = () => match(ROUTES, location.pathname.slice(BASE.length) || "/") || {module: "not_found", params: {}, preload: []};

function drawFrame() {
    const address = location.pathname.slice(BASE.length) || "/";
    const here = PARENT_PLACES[address.split("/")[1]] || address;
    fill(nav, PLACES.filter(([, , needsCluster, isForAdmins]) => (mayChange() || !needsCluster) && (session.mayAdminister || !isForAdmins)).map(([address, label]) => link(address, {
        "aria-current": (address === "/" ? here === "/" : here.startsWith(address)) ? "page" : null}, label)));
    const name = session.user?.displayName || session.user?.username;
    if (!mayChange()) fill(person, link("/settings", {class: "who", title: "Nothing can be changed or started here. Open the settings.", "aria-label": "Local runs, read-only: settings"}, h("span", {class: "chip"}, "Local runs, read-only")));
    else fill(person, isSignedIn && name && link("/settings", {class: "who", title: "Settings", "aria-label": `${name}: settings`},
        h("span", {class: "avatar", "aria-hidden": "true"}, [...name][0]), h("span", {class: "who-name"}, name)));
}

// The change stream of a page.  `banner` is shown while the master cannot be reached.
function liveFor(onLeave) {
    return (filters, fn) => {
        let wasAway = false;
        const stop = followChanges(filters, (changes) => {
            Promise.resolve(fn(changes)).catch((error) => error.name === "AbortError" || console.warn(error.message));
        }, (isConnected) => {
            banner.hidden = isConnected;
            fill(banner, icon("warn"), " The master cannot be reached. This page shows the last known state and reconnects automatically.");
            if (isConnected && wasAway) Promise.resolve(fn({reset: true})).catch(() => {});
            wasAway = !isConnected;
        });
        onLeave(stop);
        return stop;
    };
}

// Nothing can be changed while the master's disk is full.  Asks until there is room.
let isWatchingDisk = false;
async function watchDisk() {
    if (isWatchingDisk) return;
    isWatchingDisk = true;
    while (session.master.isDiskFull) {
        fill(diskBanner, icon("warn"), " The disk of the master is full. Everything can be read, and nothing changed until there is room.");
        diskBanner.hidden = false;
        await new Promise((done) => setTimeout(done, 5000));
        const health = await get("/health").catch(() => null);
        session.master.isDiskFull = !health || health.database === "read-only";
    }
    diskBanner.hidden = true;
    isWatchingDisk = false;
}

// A module that cannot be loaded has two causes: the master cannot be reached, or it was replaced by another version,
// whose files have other names.  In the second case the browser loads everything again.
async function loadPage({module, preload}) {
    for (const name of preload) import(`./pages/${name}.js`).catch(() => {});
    try {
        return await import(`./pages/${module}.js`);
    } catch (error) {
        const own = new URL(".", import.meta.url).pathname;
        const index = await fetch(BASE + "/", {cache: "no-store"}).then((reply) => reply.text(), () => null);
        if (index?.includes(own)) throw error;
        if (index !== null) location.reload();
        throw new ApiError(0, "the master cannot be reached");
    }
}

// Sets the focus after a page change: on the link that was used if the new page still has it (a tab), else on the
// content.  Keyboard users need not start at the top again.
function restoreFocus(href) {
    if (document.activeElement && document.activeElement !== document.body) return;
    const same = href && [...main.querySelectorAll("a[href]")].find((node) => node.getAttribute("href") === href);
    (same || main).focus({preventScroll: true});
}

async function showPage() {
    const before = leavePage && main.contains(document.activeElement) ? document.activeElement.getAttribute("href") : "";
    const isFirst = !leavePage;
    leavePage?.();
    for (const node of document.querySelectorAll("dialog[open]")) node.close(); // they belong to the old page
    delete document.body.dataset.page;
    pageKeys = [];
    const stops = [];
    const abort = new AbortController();
    let isLeft = false;
    leavePage = () => {
        isLeft = true;
        abort.abort();
        cancelDebounced();
        banner.hidden = true;
        for (const stop of stops.splice(0)) stop();
    };
    // The user may leave while the page waits for its first reply.  Anything it starts after that ends at once.
    const onLeave = (fn) => isLeft ? fn() : stops.push(fn);
    const found = currentRoute();
    const root = h("div", {class: ["page", found.module]});
    drawFrame();
    document.body.classList.toggle("bare", found.module === "login");
    document.title = "det";
    const wait = setTimeout(() => isLeft || root.firstChild || fill(root, spinner()), 150);
    fill(main, root);
    const about = JSON.stringify([found.module, {...found.params, tab: ""}]);
    if (about !== shown && !isFirst) scrollTo(0, 0);
    shown = about;
    try {
        const {page} = await loadPage(found);
        if (isLeft) return;
        await page({
            params: found.params, query: readQuery(), root, signal: abort.signal,
            title: (text) => isLeft || (document.title = text ? `${text} – det` : "det"),
            live: liveFor(onLeave), onLeave, keys: (rows) => isLeft || (pageKeys = rows),
        });
        if (isLeft) return;
        if (!isFirst) restoreFocus(before);
        document.body.dataset.page = found.module; // the page is ready: tests and screenshots wait for this
    } catch (error) {
        if (isLeft || error.name === "AbortError" || error.status === 401) return;
        if (!error.status && error.status !== 0) console.error(error);
        const isMissing = error.status === 404;
        if (isMissing) document.title = "Not found – det";
        fill(root, errorBox(error), error.status === 0 && h("p", "The page loads as soon as the master is back."),
            isMissing && h("p", {class: "bar"}, link("/", {class: "button primary"}, "Home"), link("/experiments", {class: "button"}, "Experiments")));
        if (error.status === 0) stops.push(followChanges({kinds: "queue"}, () => {}, (isConnected) => isConnected && location.reload()));
    } finally {
        clearTimeout(wait);
    }
}

function signedOut() {
    if (location.pathname === BASE + "/login") return;
    isSignedIn = false;
    session.user = null;
    const here = location.pathname.slice(BASE.length) + location.search;
    go("/login" + (here && here !== "/" ? "?next=" + encodeURIComponent(here) : ""), {replace: true});
}

// The sign-in page calls this after a user has signed in.
export function signedIn(next) {
    isSignedIn = true;
    go(next && next.startsWith("/") && !next.startsWith("//") ? next : "/", {replace: true});
}

const PLACE_KEYS = {h: "/", w: "/workspaces", e: "/experiments", t: "/tasks", c: "/cluster", a: "/admin", s: "/settings"};
const KEYS = [["g h", "Home"], ["g w", "Workspaces"], ["g e", "Experiments"], ["g t", "Tasks"], ["g c", "Cluster"], ["g a", "Administration"], ["g s", "Settings"], ["/", "Search this page"],
    ["j k", "Next and previous row of a table"], ["Enter", "Open the row"], ["?", "Show this list"]];

// Lists all shortcuts that work here, those of the page first.
export function showShortcuts() {
    const list = (rows) => facts(rows.map(([keys, what]) => [keys.split(" ").map((key) => [h("kbd", key === "Escape" ? "Esc" : key), " "]), what]));
    return dialog("Keyboard shortcuts", () => [pageKeys.length > 0 && [h("h3", "On this page"), list(pageKeys), h("h3", "Everywhere")], list(KEYS)]);
}

// "g" and a letter go to a page, "/" goes to the search box, "?" lists the shortcuts; other keys belong to the page.
let previousKey = "";
function handleShortcut(event) {
    const typing = "input:not([type=checkbox]), textarea, select, [contenteditable], dialog, [popover]";
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(typing)) return;
    const own = pageKeys.find(([key, , act]) => key === event.key && act);
    const box = event.key === "/" && main.querySelector("input[type=search]");
    if (previousKey === "g" && PLACE_KEYS[event.key]) go(PLACE_KEYS[event.key]);
    else if (own) own[2]();
    else if (box) box.focus();
    else if (event.key === "?") showShortcuts();
    else {
        previousKey = event.key;
        return;
    }
    previousKey = "";
    event.preventDefault();
}

async function startApp() {
    applyTheme();
    fill(document.body, h("a", {class: "skip", href: "#main", onclick: (event) => {
        event.preventDefault();
        main.focus();
    }}, "Skip to content"),
    h("header", {class: "top"}, link("/", {class: "brand", "aria-label": "det, home"}, h("span", {class: "mark", "aria-hidden": "true"}), h("span", {class: "brand-name"}, "det")), nav, person), banner, diskBanner, main);
    whenSignedOut(signedOut);
    whenDiskFull(() => {
        if (!session.master) return;
        session.master.isDiskFull = true;
        watchDisk();
    });
    whenMoved(showPage);
    document.addEventListener("sessionchange", drawFrame);
    addEventListener("popstate", showPage);
    addEventListener("keydown", handleShortcut);
    // Fetches the page's module while the master looks up the session.
    import(`./pages/${currentRoute().module}.js`).catch(() => {});
    for (;;) {
        try {
            isSignedIn = await resumeSession();
            break;
        } catch (error) {
            fill(main, errorBox(error));
            await new Promise((done) => setTimeout(done, 1000));
        }
    }
    watchDisk();
    if (!isSignedIn) signedOut();
    if (isSignedIn || location.pathname === BASE + "/login") await showPage();
}

startApp();
