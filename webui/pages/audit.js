// SPDX-License-Identifier: Apache-2.0
// audit.js - the audit log: who did what to which object from where; for administrators.
//
// The address holds all choices: ?user=&action=&object=&since=.

import {get} from "../api.js";
import {debounce, fill, h} from "../dom.js";
import {ago, plural, time} from "../format.js";
import {link, setQuery} from "../router.js";
import {dataTable} from "../table.js";
import {button, empty, errorBox, select, toastError} from "../widgets.js";

const PAGE = 100;
const SINCE_S = {hour: 3600, day: 86400, week: 7 * 86400, month: 30 * 86400};
const PAGES = {experiment: "/experiments", trial: "/trials", task: "/tasks", workspace: "/workspaces", project: "/projects"};

const words = (action) => action.replaceAll("_", " ");
const object = (entry) => [entry.objectKind, entry.objectId].filter(Boolean).join(" ");

const COLUMNS = [
    {id: "time", label: "Time", isQuiet: true, cell: (e) => h("time", {datetime: e.time, title: time(e.time)}, ago(e.time))},
    {id: "user", label: "User", cell: (e) => e.username || h("span", {class: "dim"}, "nobody")},
    {id: "action", label: "Action", cell: (e) => words(e.action)},
    {id: "object", label: "Object", class: "cut", cell: (e) => PAGES[e.objectKind] ? link(`${PAGES[e.objectKind]}/${encodeURIComponent(e.objectId)}`, {}, object(e)) : object(e)},
    {id: "address", label: "From", class: "phone-off mono", cell: (e) => e.address},
    {id: "status", label: "Result", cell: (e) => e.status < 400 ? "done" : h("strong", e.action === "login" ? "wrong login" : "refused")},
    {id: "detail", label: "Fields", class: "cut phone-off dim", cell: (e) => e.detail},
];

export async function page({root, query, title, signal}) {
    title("Audit log");
    const chosen = {user: "", action: "", object: "", since: "", ...query};
    const place = h("div");
    const counted = h("span", {class: "dim", role: "status"});
    const table = dataTable({label: "Audit log", columns: COLUMNS});
    const more = button("Show older entries", () => read(true).catch(toastError));
    let entries = [];
    let next = null;

    async function read(isMore) {
        const since = SINCE_S[chosen.since] && new Date(Date.now() - SINCE_S[chosen.since] * 1000).toISOString();
        const reply = await get("/api/v1/det/audit", {user: chosen.user || undefined, action: chosen.action || undefined, object: chosen.object || undefined,
            since: since || undefined, limit: PAGE, before: isMore ? next : undefined}, {signal});
        entries = isMore ? [...entries, ...reply.entries] : reply.entries;
        next = reply.next;
        more.hidden = next === null;
        counted.textContent = plural(entries.length, "entry", "entries") + (next === null ? "" : " so far");
        table.rows(entries);
        fill(place, entries.length ? [table.node, more] : empty(h("p", "No entries match.")));
    }
    const choose = (changes) => {
        Object.assign(chosen, changes);
        setQuery(changes);
        read(false).catch(toastError);
    };
    const filter = (name, label, hint) => h("input", {type: "search", placeholder: hint, "aria-label": label, value: chosen[name],
        oninput: debounce((event) => choose({[name]: event.target.value.trim()}), 300)});

    fill(root, h("div", {class: "head"}, h("h1", "Audit log")),
        h("p", {class: "dim"}, "Changes, sign-ins and refused calls, the newest first."),
        h("div", {class: "bar"}, filter("user", "User", "User"), filter("action", "Action", "Action, e.g. patch_user"), filter("object", "Object", "Object, e.g. experiment 3"),
            select([["", "Any time"], ["hour", "Last hour"], ["day", "Last day"], ["week", "Last week"], ["month", "Last 30 days"]], chosen.since, (since) => choose({since}), {"aria-label": "Time"}), counted),
        place);
    try {
        await read(false);
    } catch (error) {
        if (error.status !== 403) throw error;
        fill(place, errorBox("Only administrators may read the audit log."));
    }
}
