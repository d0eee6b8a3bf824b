// SPDX-License-Identifier: Apache-2.0
// app.js - the frame around every page.
//
//   address --ROUTES--> module --page(ctx)--> <main>
//
// A page is a module that exports page(ctx).  It gets
//
//   params, query   what the address says
//   root            the element to fill
//   title(text)     names the tab and the history
//   live(filters, fn)  calls fn(changes) when something changes (live.js); one stream a page
//   onLeave(fn)     is called when the page is left
//   keys(rows)      [["n", "Next page", fn], …]: its keys, which "?" tells; without fn they are only told
//   signal          an AbortSignal: calls of a page that was left are given up
//
// To add a page: a row in ROUTES, a module in pages/; in the navigation: a row in PLACES.

import {ApiError, whenSignedOut} from "./api.js";
import {cancelDebounced, fill, h} from "./dom.js";
import {follow} from "./live.js";
import {BASE, go, link, match, readQuery, whenMoved} from "./router.js";
import {applyTheme, mayChange, resume, session} from "./session.js";
import {dialog, errorBox, facts, icon, spinner} from "./widgets.js";

// [addresses, module, its tabs and what it will import by itself for each of them].  The master reads this table,
// too (tools/embed-webui): it names those modules beside the page, and no others are pages.
const ROUTES = [
    ["/", "dashboard"],
    ["/login", "login"],
    ["/experiments", "experiments"],
    ["/experiments/:id/:tab?", "experiment", {"": "experiment_overview", overview: "experiment_overview", metrics: "experiment_overview trial_metrics", trials: "experiment_tables", search: "experiment_search",
        checkpoints: "experiment_tables", configuration: "experiment_files", code: "experiment_files", notes: "experiment_notes", lineage: "experiment_notes"}],
    ["/trials/:id/:tab? /experiments/:experiment/trials/:id/:tab?", "trial", {"": "trial_metrics", overview: "trial_metrics", metrics: "trial_metrics", hyperparameters: "", profiler: "trial_profile", checkpoints: "trial_checkpoints", logs: "../logview"}],
    ["/compare", "compare"],
    ["/tasks", "tasks"],
    ["/tasks/:id/:tab?", "task", {"": "", overview: "", configuration: "", logs: "../logview"}],
    ["/logs/:id", "logs"],
    ["/cluster", "cluster"],
    ["/settings", "settings"],
];

// Pages that have no place of their own in the navigation belong to one.
const BELONGS = {trials: "/experiments", compare: "/experiments", logs: "/tasks"};

const PLACES = [ // [address, label, whether it needs a cluster]; workspaces, models and users will stand here, too
    ["/", "Home"],
    ["/experiments", "Experiments"],
    ["/tasks", "Tasks", true],
    ["/cluster", "Cluster", true],
];

const main = h("main", {id: "main", tabindex: -1});
const nav = h("nav", {class: "places", "aria-label": "Main"});
const person = h("div", {class: "person"});
const banner = h("div", {class: "banner", role: "status", hidden: true});

let leave = null; // ends the page that is shown
let shown = ""; // which one: its module and what it is about
let pageKeys = []; // of the page that is shown
let isSignedIn = false;

const pageHere = () => match(ROUTES, location.pathname.slice(BASE.length) || "/") || {module: "missing", params: {}, soon: []};

function drawFrame() {
    const address = location.pathname.slice(BASE.length) || "/";
    const here = BELONGS[address.split("/")[1]] || address;
    fill(nav, PLACES.filter(([, , needsCluster]) => mayChange() || !needsCluster).map(([address, label]) => link(address, {
        "aria-current": (address === "/" ? here === "/" : here.startsWith(address)) ? "page" : null}, label)));
    const name = session.user?.displayName || session.user?.username;
    if (!mayChange()) fill(person, link("/settings", {class: "who", title: "Nothing can be changed or started here; settings", "aria-label": "local runs, only shown: settings"}, h("span", {class: "chip"}, "local runs, only shown")));
    else fill(person, isSignedIn && name && link("/settings", {class: "who", title: "Settings", "aria-label": `${name}: settings`},
        h("span", {class: "avatar", "aria-hidden": "true"}, [...name][0]), h("span", {class: "who-name"}, name)));
}

// The stream of a page: `banner` says when the master is away.
function liveFor(onLeave) {
    return (filters, fn) => {
        let wasAway = false;
        onLeave(follow(filters, (changes) => {
            Promise.resolve(fn(changes)).catch((error) => error.name === "AbortError" || console.warn(error.message));
        }, (isConnected) => {
            banner.hidden = isConnected;
            fill(banner, icon("warn"), " The master cannot be reached. This page shows what it knew, and goes on by itself.");
            if (isConnected && wasAway) Promise.resolve(fn({reset: true})).catch(() => {});
            wasAway = !isConnected;
        }));
    };
}

// A page whose module cannot be had: the master is away, or it is another program by now, with
// files of other names, and all is loaded anew.
async function load({module, soon}) {
    for (const name of soon) import(`./pages/${name}.js`).catch(() => {});
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

// Where the focus goes when a page takes the place of another: to the link that led there if it is
// still there (a tab), else to the content, so that nobody begins at the top again.
function keepFocus(href) {
    if (document.activeElement && document.activeElement !== document.body) return;
    const same = href && [...main.querySelectorAll("a[href]")].find((node) => node.getAttribute("href") === href);
    (same || main).focus({preventScroll: true});
}

async function show() {
    const before = leave && main.contains(document.activeElement) ? document.activeElement.getAttribute("href") : "";
    const isFirst = !leave;
    leave?.();
    for (const node of document.querySelectorAll("dialog[open]")) node.close(); // they belong to the page that is left
    delete document.body.dataset.page;
    pageKeys = [];
    const stops = [];
    const abort = new AbortController();
    let isLeft = false;
    leave = () => {
        isLeft = true;
        abort.abort();
        cancelDebounced();
        banner.hidden = true;
        for (const stop of stops.splice(0)) stop();
    };
    // A page may be left while it waits for its first answer: what it starts after that ends at once.
    const onLeave = (fn) => isLeft ? fn() : stops.push(fn);
    const found = pageHere();
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
        const {page} = await load(found);
        if (isLeft) return;
        await page({
            params: found.params, query: readQuery(), root, signal: abort.signal,
            title: (text) => isLeft || (document.title = text ? `${text} – det` : "det"),
            live: liveFor(onLeave), onLeave, keys: (rows) => isLeft || (pageKeys = rows),
        });
        if (isLeft) return;
        if (!isFirst) keepFocus(before);
        document.body.dataset.page = found.module; // it is there: tests and pictures wait for this
    } catch (error) {
        if (isLeft || error.name === "AbortError" || error.status === 401) return;
        if (!error.status && error.status !== 0) console.error(error);
        const isMissing = error.status === 404;
        if (isMissing) document.title = "Not there – det";
        fill(root, errorBox(error), error.status === 0 && h("p", "It will be shown as soon as the master is back."),
            isMissing && h("p", {class: "bar"}, link("/", {class: "button primary"}, "Home"), link("/experiments", {class: "button"}, "Experiments")));
        if (error.status === 0) stops.push(follow({kinds: "queue"}, () => {}, (isConnected) => isConnected && location.reload()));
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

// The sign-in page calls this when it is done.
export function signedIn(next) {
    isSignedIn = true;
    go(next && next.startsWith("/") && !next.startsWith("//") ? next : "/", {replace: true});
}

const PLACE_KEYS = {h: "/", e: "/experiments", t: "/tasks", c: "/cluster", s: "/settings"};
const KEYS = [["g h", "Home"], ["g e", "Experiments"], ["g t", "Tasks"], ["g c", "Cluster"], ["g s", "Settings"], ["/", "Search on this page"],
    ["j k", "Next and previous row of a table"], ["Enter", "Open the row"], ["?", "This list"]];

// All keys that count here, those of the page first.
export function tellKeys() {
    const list = (rows) => facts(rows.map(([keys, what]) => [keys.split(" ").map((key) => [h("kbd", key === "Escape" ? "Esc" : key), " "]), what]));
    return dialog("Keys", () => [pageKeys.length > 0 && [h("h3", "On this page"), list(pageKeys), h("h3", "Everywhere")], list(KEYS)]);
}

// "g e" and the like go places; "/" finds the search box of a page; "?" tells; the rest is the page's.
let before = "";
function shortcuts(event) {
    const typing = "input:not([type=checkbox]), textarea, select, [contenteditable], dialog, [popover]";
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(typing)) return;
    const own = pageKeys.find(([key, , act]) => key === event.key && act);
    const box = event.key === "/" && main.querySelector("input[type=search]");
    if (before === "g" && PLACE_KEYS[event.key]) go(PLACE_KEYS[event.key]);
    else if (own) own[2]();
    else if (box) box.focus();
    else if (event.key === "?") tellKeys();
    else {
        before = event.key;
        return;
    }
    before = "";
    event.preventDefault();
}

async function begin() {
    applyTheme();
    fill(document.body, h("a", {class: "skip", href: "#main", onclick: (event) => {
        event.preventDefault();
        main.focus();
    }}, "Skip to content"),
    h("header", {class: "top"}, link("/", {class: "brand", "aria-label": "det, home"}, h("span", {class: "mark", "aria-hidden": "true"}), h("span", {class: "brand-name"}, "det")), nav, person), banner, main);
    whenSignedOut(signedOut);
    whenMoved(show);
    document.addEventListener("sessionchange", drawFrame);
    addEventListener("popstate", show);
    addEventListener("keydown", shortcuts);
    // What will be shown is fetched while the master says who this is.
    import(`./pages/${pageHere().module}.js`).catch(() => {});
    for (;;) {
        try {
            isSignedIn = await resume();
            break;
        } catch (error) {
            fill(main, errorBox(error));
            await new Promise((done) => setTimeout(done, 1000));
        }
    }
    if (!isSignedIn) signedOut();
    if (isSignedIn || location.pathname === BASE + "/login") await show();
}

begin();
