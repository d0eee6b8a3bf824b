// SPDX-License-Identifier: Apache-2.0
// experiments.js - the table of experiments.
//
// The master searches, filters, sorts and counts; the browser shows one page of the result, so a hundred thousand
// experiments cost it no more than a hundred.  The address holds search, filters, order and columns.  The selection is kept
// across pages, filters and changes.
//
// The page of a project shows the same table, limited to its experiments (showExperiments).

import {get, isAbort, post} from "../api.js";
import {showShortcuts} from "../app.js";
import {checkMenu} from "../check_menu.js";
import {debounce, fill, h} from "../dom.js";
import {bytes, duration, number, plural, time} from "../format.js";
import {go, link, setQuery} from "../router.js";
import {may, maySomewhere, seesOnlySome} from "../rights.js";
import {chooseProject} from "../spaces.js";
import {dataTable} from "../table.js";
import {badge, button, chip, confirm, dialog, empty, errorBox, errorSentence, field, menu, progressBar, toast, toastError} from "../widgets.js";

const ADDRESS = "/api/v1/det/experiments";
const COLUMNS_KEY = "det.experiments.columns";
const SIZES = ["25", "50", "100", "200"];
const PAGE_MOST = 1e6; // largest page number in an address; beyond the last page the last one is shown
const SIZE = "50";
const SORT = "-id";
const TYPING_MS = 120;
const LIVE_MS = 1000;
const LATE_MS = 60;
const AT_ONCE = 5000; // ids per call
const COMPARE_MOST = 100;

// id: also the name of the sort order; needs: the fields of a row that the cell uses
const COLUMNS = [
    {id: "id", label: "ID", needs: [], isNumber: true, sortable: true, cell: (row) => String(row.id)},
    {id: "name", label: "Name", needs: ["name"], sortable: true, class: "cut", cell: nameCell},
    {id: "state", label: "State", needs: ["state"], sortable: true, cell: (row) => [badge(row.state), row.archived && h("span", {class: "chip"}, "archived")]},
    {id: "progress", label: "Progress", needs: ["progress"], sortable: true, cell: (row) => progressBar(row.progress, `Progress of experiment ${row.id}`)},
    {id: "bestMetric", label: "Best metric", needs: ["bestMetric", "searcherMetric"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => row.bestMetric === null ? "" : h("span", {title: row.searcherMetric}, number(row.bestMetric))},
    {id: "metric", label: "Metric", needs: ["searcherMetric"], class: "phone-off cut", cell: (row) => row.searcherMetric},
    {id: "trials", label: "Trials", needs: ["trials"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => number(row.trials)},
    {id: "owner", label: "Owner", needs: ["username"], sortable: true, class: "phone-off", cell: (row) => row.username},
    {id: "start", label: "Started", needs: ["startTime"], sortable: true, class: "phone-off nowrap", cell: (row) => time(row.startTime).slice(0, 16)},
    {id: "end", label: "Ended", needs: ["endTime"], sortable: true, class: "phone-off nowrap", cell: (row) => time(row.endTime).slice(0, 16)},
    {id: "duration", label: "Duration", needs: ["duration"], isNumber: true, sortable: true, isQuiet: true, class: "phone-off", cell: (row) => row.startTime === null ? "" : duration(row.duration)},
    {id: "searcher", label: "Searcher", needs: ["searcherType"], sortable: true, class: "phone-off", cell: (row) => row.searcherType},
    {id: "pool", label: "Pool", needs: ["resourcePool"], sortable: true, class: "phone-off", cell: (row) => row.resourcePool},
    {id: "labels", label: "Labels", needs: ["labels"], class: "phone-off", cell: (row) => (row.labels || []).map((label) => chip(label))},
    {id: "description", label: "Description", needs: ["description", "descriptionLength"], class: "phone-off cut", cell: (row) => h("span", {title: row.description}, row.description)},
    {id: "checkpoints", label: "Checkpoints", needs: ["checkpoints"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => number(row.checkpoints)},
    {id: "checkpointSize", label: "Checkpoint size", needs: ["checkpointSize"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => row.checkpointSize ? bytes(row.checkpointSize) : ""},
    {id: "priority", label: "Priority", needs: ["priority"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => number(row.priority)},
    {id: "project", label: "Project", needs: ["projectId", "projectName"], class: "phone-off cut", cell: (row) => link(`/projects/${row.projectId}`, {title: row.projectName}, row.projectName)},
    {id: "workspace", label: "Workspace", needs: ["workspaceId", "workspaceName"], class: "phone-off cut", cell: (row) => link(`/workspaces/${row.workspaceId}`, {title: row.workspaceName}, row.workspaceName)},
    {id: "parent", label: "Forked from", needs: ["parentId"], isNumber: true, class: "phone-off", cell: (row) => row.parentId ? link(`/experiments/${row.parentId}`, {}, String(row.parentId)) : ""},
];
const DEFAULT_COLUMNS = ["id", "name", "state", "progress", "bestMetric", "trials", "owner", "start", "duration", "labels"];
const ALWAYS = ["name", "state", "archived"];

const STATES = ["RUNNING", "STARTING", "PULLING", "QUEUED", "PAUSED", "STOPPING_COMPLETED", "STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_ERROR", "COMPLETED", "CANCELED", "ERROR", "DELETING", "DELETE_FAILED"];

// [name, label, past participle, warning, kind], and the permission that each needs
const ACTIONS = [
    ["activate", "Activate", "activated"],
    ["pause", "Pause", "paused"],
    ["cancel", "Cancel", "canceled", "Their trials checkpoint and stop. They can be continued later."],
    ["kill", "Kill", "killed", "Their trials are stopped at once. Work since the last checkpoint is lost.", "danger"],
    ["archive", "Archive", "archived"],
    ["unarchive", "Unarchive", "unarchived"],
    ["delete", "Delete", "deleted", "Their metrics, logs and checkpoints are deleted, too. This cannot be undone.", "danger"],
];
const NEEDS = {archive: "UPDATE_EXPERIMENT_METADATA", unarchive: "UPDATE_EXPERIMENT_METADATA", delete: "DELETE_EXPERIMENT"};

function nameCell(row) {
    const name = row.name?.trim();
    return link(`/experiments/${row.id}`, {tabindex: -1, class: !name && "dim", title: name || null}, name || "(no name)");
}

const list = (value) => value === undefined ? [] : [].concat(value);

// Reads the view from the address.
function viewFrom(query) {
    let columns = query.columns ? String(query.columns).split(",") : null;
    if (!columns) {
        try {
            columns = JSON.parse(localStorage.getItem(COLUMNS_KEY));
        } catch { /* none saved */ }
    }
    columns = (Array.isArray(columns) ? columns : DEFAULT_COLUMNS).filter((id) => COLUMNS.some((column) => column.id === id));
    return {
        search: String(query.search || ""), states: list(query.states).filter((state) => STATES.includes(state)), users: list(query.users), labels: list(query.labels), searcher: list(query.searcher), pool: list(query.pool),
        archived: ["yes", "both"].includes(query.archived) ? query.archived : "no", sort: COLUMNS.some((column) => column.sortable && column.id === String(query.sort).replace(/^-/, "")) ? query.sort : SORT,
        page: Math.min(PAGE_MOST, Math.max(1, Number.parseInt(query.page, 10) || 1)), size: SIZES.includes(query.size) ? query.size : SIZE, columns: columns.length ? columns : DEFAULT_COLUMNS,
    };
}

const FILTERS = ["search", "states", "users", "labels", "searcher", "pool"];
const isFiltered = (view) => FILTERS.some((name) => view[name].length > 0);
const filtersOf = (view) => ({...Object.fromEntries(FILTERS.map((name) => [name, view[name]])), archived: view.archived});

function addressOf(view) {
    const isDefault = view.columns.join() === DEFAULT_COLUMNS.join();
    return {...filtersOf(view), archived: view.archived === "no" ? "" : view.archived, sort: view.sort === SORT ? "" : view.sort,
        page: view.page === 1 ? "" : view.page, size: view.size === SIZE ? "" : view.size, columns: isDefault ? "" : view.columns.join()};
}

export async function page(ctx) {
    ctx.title("Experiments");
    await showExperiments(ctx, {head: h("div", {class: "head"}, h("h1", "Experiments"), button("Shortcuts", showShortcuts, {kind: "plain phone-off", title: "?"}))});
}

// `within`: query parameters that are always sent ({projectIds: 3}); `workspaceId`: where all of them are, if that is known;
// `none`: shown if there is nothing to list.
export async function showExperiments({root, query, signal, live, onLeave, keys}, {head = null, within = {}, workspaceId = 0, none = null}) {
    // The master refuses single experiments of a selection; here only what the user may do nowhere is left out.
    const mayHere = (permission = "UPDATE_EXPERIMENT") => workspaceId ? may(permission, {workspaceId}) : maySomewhere(permission);
    const view = viewFrom(query);
    const selection = new Set();
    const known = new Map(); // names of experiments seen so far, for dialogs and toasts
    let reply = {experiments: [], total: 0, all: 0, states: {}};
    let asked = null; // the current call
    let shownAt = 0;

    // ---- reading

    const neededColumns = () => [...new Set([...ALWAYS, ...COLUMNS.filter((column) => view.columns.includes(column.id)).flatMap((column) => column.needs),
        ...(view.columns.includes("duration") ? ["startTime"] : [])])].join();
    const question = () => ({...within, ...filtersOf(view), sort: view.sort, offset: (view.page - 1) * view.size, limit: view.size, columns: neededColumns()});

    async function load() {
        asked?.abort();
        const mine = asked = new AbortController();
        const give = () => mine.abort();
        signal.addEventListener("abort", give);
        try {
            const found = await get(ADDRESS, question(), {signal: mine.signal});
            if (mine !== asked) return;
            reply = found;
            const last = Math.max(1, Math.ceil(reply.total / view.size));
            if (view.page > last) {
                view.page = last;
                setQuery(addressOf(view));
                return await load();
            }
            draw();
        } finally {
            signal.removeEventListener("abort", give);
        }
    }
    const reload = () => load().catch((error) => isAbort(error) || error.status === 401 || fill(notice, errorBox(error)));

    // `push` adds a history entry; typing adds none.  The filters are drawn together with the result, which saves one
    // drawing, but at the latest after LATE_MS.
    let late = 0;
    onLeave(() => clearTimeout(late));
    function change(changes, {push = true} = {}) {
        Object.assign(view, {page: 1}, changes);
        setQuery(addressOf(view), {push});
        clearTimeout(late);
        late = setTimeout(drawChoice, LATE_MS);
        return reload();
    }

    // ---- controls

    const typed = debounce((text) => change({search: text}, {push: false}), TYPING_MS);
    const box = h("input", {type: "search", "aria-label": "Search experiments by ID, name, description or label", placeholder: "Search ID, name, description, label", value: view.search, autocomplete: "off", spellcheck: "false",
        oninput: (event) => typed(event.target.value.trim()),
        onkeydown: (event) => {
            if (event.key === "Enter") typed.now(event.target.value.trim());
            else if (event.key === "ArrowDown") table.focusFirst();
            else return;
            event.preventDefault();
        }});

    let values = null; // the values to filter by: read when a menu first opens, and again after changes
    const valuesOf = async (name) => {
        values ||= get(ADDRESS, {...within, limit: 0, archived: "both", values: true}, {signal});
        try {
            return (await values).values[name].filter((one) => one.name).map((one) => ({value: one.name, count: one.count}));
        } catch (error) {
            values = null;
            throw error;
        }
    };
    const filter = (label, name, options) => checkMenu(label, {options, chosen: () => view[name], onChange: (chosen) => change({[name]: chosen})});
    const stateOptions = () => STATES.filter((state) => reply.states[state] || view.states.includes(state) || ["RUNNING", "QUEUED", "PAUSED", "COMPLETED", "CANCELED", "ERROR"].includes(state))
        .map((state) => ({value: state, label: badge(state), count: reply.states[state] || 0}));
    const menus = [
        filter("State", "states", stateOptions), filter("Owner", "users", () => valuesOf("users")), filter("Label", "labels", () => valuesOf("labels")),
        filter("Searcher", "searcher", () => valuesOf("searchers")), filter("Pool", "pool", () => valuesOf("pools")),
    ];
    const archived = h("select", {"aria-label": "Archived experiments", value: view.archived, onchange: (event) => change({archived: event.target.value})},
        h("option", {value: "no"}, "Not archived"), h("option", {value: "yes"}, "Archived"), h("option", {value: "both"}, "All, including archived"));

    const keepColumns = (chosen) => {
        view.columns = COLUMNS.map((column) => column.id).filter((id) => chosen.includes(id));
        if (!view.columns.length) view.columns = ["id"];
        localStorage.setItem(COLUMNS_KEY, JSON.stringify(view.columns));
        setQuery(addressOf(view));
        table.columns(shownColumns());
        reload();
    };
    const columns = checkMenu("Columns", {isQuiet: true, options: () => COLUMNS.map((column) => ({value: column.id, label: column.label})), chosen: () => view.columns, onChange: keepColumns,
        footer: (again) => button("Reset", () => {
            keepColumns(DEFAULT_COLUMNS);
            again();
        }, {kind: "plain"})});
    const shownColumns = () => COLUMNS.filter((column) => view.columns.includes(column.id));

    // ---- the table

    const table = dataTable({label: "Experiments", columns: shownColumns(), href: (row) => `/experiments/${row.id}`, sort: view.sort, selection,
        onSort: (sort) => change({sort}), onSelect: drawSelection});
    const notice = h("div");
    const chips = h("div", {class: "bar chips"});
    const selected = h("div", {class: "bar selected-bar", role: "region", "aria-label": "Selected experiments", hidden: true});
    const foot = h("div", {class: "bar paging"});
    const counted = h("span", {class: "dim", role: "status"});

    let drawnChoice = "";
    function drawChoice() {
        clearTimeout(late);
        if (drawnChoice === (drawnChoice = JSON.stringify(filtersOf(view)))) return;
        for (const one of menus) one.paint();
        const rows = FILTERS.slice(1).flatMap((name) => view[name].map((value) => chip(value, () => change({[name]: view[name].filter((one) => one !== value)}))));
        if (view.search) rows.unshift(chip(`“${view.search}”`, () => {
            box.value = "";
            change({search: ""});
        }));
        fill(chips, rows, rows.length > 0 && button("Clear filters", clearFilters, {kind: "plain"}));
        chips.hidden = !rows.length;
        archived.value = view.archived;
    }
    function clearFilters() {
        box.value = "";
        change({search: "", states: [], users: [], labels: [], searcher: [], pool: []});
        box.focus();
    }

    function turnPage(by) {
        const last = Math.max(1, Math.ceil(reply.total / view.size));
        const to = Math.min(last, Math.max(1, view.page + by));
        if (to === view.page) return;
        change({page: to}).then(() => scrollTo({top: 0}));
    }
    let drawnFoot = "";
    function drawFoot() {
        const first = (view.page - 1) * view.size;
        const last = Math.max(1, Math.ceil(reply.total / view.size));
        if (drawnFoot === (drawnFoot = [view.page, view.size, reply.total].join())) return;
        counted.textContent = reply.total ? `${number(first + 1)}–${number(Math.min(first + Number(view.size), reply.total))} of ${number(reply.total)}` : "";
        const focused = foot.contains(document.activeElement) ? document.activeElement.dataset.name : null;
        fill(foot, counted, h("span", {class: "grow"}),
            button("Previous", () => turnPage(-1), {icon: "left", disabled: view.page <= 1, "data-name": "previous", title: "p"}),
            h("span", {class: "dim"}, `Page ${number(view.page)} of ${number(last)}`),
            button("Next", () => turnPage(1), {icon: "right", disabled: view.page >= last, "data-name": "next", title: "n"}),
            h("select", {"aria-label": "Rows per page", value: view.size, "data-name": "size", onchange: (event) => change({size: event.target.value})}, SIZES.map((size) => h("option", {value: size}, `${size} rows`))));
        foot.hidden = !reply.total;
        if (focused) (foot.querySelector(`[data-name=${focused}]:not(:disabled)`) || foot.querySelector("button:not(:disabled)"))?.focus();
    }

    function nothing() {
        if (reply.total) return null;
        if (!reply.all && none) return none();
        if (!reply.all) return empty(h("p", seesOnlySome() ? "There are no experiments that you may see yet." : "There are no experiments yet."), maySomewhere("CREATE_EXPERIMENT") && h("p", "Create one: ", h("code", "det experiment create config.yaml .")));
        if (!isFiltered(view)) return empty(h("p", view.archived === "yes" ? "No experiment is archived." : "All experiments are archived."),
            button("Show all", () => change({archived: "both"})));
        return empty(h("p", "No experiments match."), button("Clear filters", clearFilters));
    }

    function draw() {
        for (const row of reply.experiments) known.set(row.id, row.name);
        table.rows(reply.experiments);
        const nothingNode = nothing();
        fill(notice, nothingNode);
        table.node.hidden = !!nothingNode;
        drawChoice();
        drawFoot();
        drawSelection();
        shownAt = performance.now();
        root.dataset.shown = String(1 + Number(root.dataset.shown || 0)); // tests and benchmarks wait for this
    }

    // ---- selection

    const nameOf = (id) => known.get(id) ? `${id} “${cut(known.get(id))}”` : String(id);
    const cut = (text) => text.length > 60 ? text.slice(0, 60) + "…" : text;

    async function act([action, label, done, warning, kind], more = {}, what = label) {
        const ids = [...selection];
        const many = plural(ids.length, "experiment");
        const names = ids.slice(0, 8).map(nameOf).join(", ") + (ids.length > 8 ? ` and ${number(ids.length - 8)} more` : "");
        const yes = await confirm(`${what} ${many}?`, [h("span", {class: "names"}, names + "."), warning && [h("br"), warning]], `${label} ${many}`, kind);
        if (!yes) return;
        const results = [];
        for (let at = 0; at < ids.length; at += AT_ONCE) {
            results.push(...(await post(`${ADDRESS}/actions`, {action, ids: ids.slice(at, at + AT_ONCE), ...more})).results);
        }
        toastResults(results, done);
        values = null;
        if (action === "delete") for (const one of results) one.error || selection.delete(one.id);
        await reload();
    }

    function toastResults(results, done) {
        const bad = results.filter((one) => one.error);
        const good = results.length - bad.length;
        if (good) toast(`${plural(good, "experiment")} ${done}.`, "good");
        const reasons = new Map();
        for (const one of bad) reasons.set(one.error, [...(reasons.get(one.error) || []), one.id]);
        [...reasons].slice(0, 3).forEach(([error, ids]) => toast(`${plural(ids.length, "experiment")} not ${done} (${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ", …" : ""}): ${errorSentence(error)}`, "bad"));
        if (reasons.size > 3) toast(`${plural(reasons.size - 3, "more reason")} why experiments were not ${done}.`, "bad");
    }

    async function label(isAdding) {
        const input = h("input", {required: true, autofocus: true, maxlength: 200});
        const text = await dialog(isAdding ? "Add label" : "Remove label", (close) => h("form", {onsubmit: (event) => {
            event.preventDefault();
            close(input.value.trim());
        }}, field("Label", input), h("footer", button("Cancel", () => close()), h("button", {type: "submit", class: "button primary"}, isAdding ? "Add" : "Remove"))));
        if (!text) return;
        if (isAdding) await act(["label", "Label", `labelled “${cut(text)}”`], {label: text}, `Add the label “${cut(text)}” to`);
        else await act(["unlabel", "Unlabel", `unlabelled “${cut(text)}”`], {label: text}, `Remove the label “${cut(text)}” from`);
    }

    async function move() {
        const ids = [...selection];
        const project = await chooseProject(`Move ${plural(ids.length, "experiment")} to`, {signal});
        if (!project) return;
        const {results} = await post("/api/v1/projects/-1/experiments/move", {experimentIds: ids, destinationProjectId: project.id});
        toastResults(results, `moved to ${cut(project.name)}`);
        await reload();
    }

    const compare = () => go(`/compare?experiments=${[...selection].slice(0, COMPARE_MOST).join(",")}`);
    const doing = (work) => () => Promise.resolve(work()).catch((error) => error.status === 401 || toastError(error));
    async function selectAll() {
        const found = await get(ADDRESS, {...within, ...filtersOf(view), columns: "id", limit: -1, sort: view.sort}, {signal});
        for (const one of found.experiments) selection.add(one.id);
        table.paintSelection();
        drawSelection();
    }
    function selectNone() {
        selection.clear();
        table.paintSelection();
        drawSelection();
    }

    let drawnCount = -1;
    function drawSelection() {
        const here = reply.experiments.filter((row) => selection.has(row.id)).length;
        const isWhole = here === reply.experiments.length && selection.size < reply.total;
        const state = selection.size * 2 + (isWhole ? 1 : 0);
        selected.hidden = !selection.size;
        if (state === drawnCount) return;
        drawnCount = state;
        const held = selected.contains(document.activeElement) ? document.activeElement.textContent : null;
        fill(selected, h("strong", `${number(selection.size)} selected`), h("span", {class: "dim", hidden: here === selection.size}, `${number(selection.size - here)} of them not on this page`),
            isWhole && button(`Select all ${number(reply.total)} that match`, doing(selectAll), {kind: "plain"}), button("Clear selection", selectNone, {kind: "plain", title: "Esc"}),
            h("span", {class: "grow"}),
            button("Compare", compare, {disabled: selection.size < 2 || selection.size > COMPARE_MOST, title: selection.size > COMPARE_MOST ? `At most ${COMPARE_MOST} can be compared` : "c"}),
            ACTIONS.slice(0, 4).filter(([name]) => mayHere(NEEDS[name])).map((action) => button(action[1], doing(() => act(action)), {kind: `${action[4] || ""} phone-off`})),
            (mayHere() || mayHere("UPDATE_EXPERIMENT_METADATA")) && menu("More", () => [...ACTIONS.slice(0, 4).filter(() => innerWidth <= 640), ...ACTIONS.slice(4)].filter(([name]) => mayHere(NEEDS[name])).map((action) => [action[1], doing(() => act(action)), {kind: action[4]}])
                .concat(mayHere("UPDATE_EXPERIMENT_METADATA") ? [["Add label …", doing(() => label(true))], ["Remove label …", doing(() => label(false))]] : [], mayHere() ? [["Move to project …", doing(move)]] : [])));
        for (const node of selected.querySelectorAll("button")) if (held && node.textContent === held && !node.disabled) node.focus();
    }

    // ---- keys

    keys([
        ["n", "Next page", () => turnPage(1)], ["p", "Previous page", () => turnPage(-1)], ["j", "Go to the first row", () => table.focusFirst()],
        ["Space", "Select the row; with Shift a range"],
        ["a", "Select all on this page", () => {
            for (const row of reply.experiments) selection.add(row.id);
            table.paintSelection();
            drawSelection();
        }],
        ["Escape", "Clear the selection", () => selection.size && selectNone()],
        ["c", "Compare the selected experiments", () => selection.size > 1 && selection.size <= COMPARE_MOST && compare()],
    ]);

    // ---- changes

    let waiting = 0;
    function reloadSoon() {
        if (waiting || document.hidden) return;
        waiting = setTimeout(() => {
            waiting = 0;
            reload();
        }, Math.max(0, shownAt + LIVE_MS - performance.now()));
    }
    onLeave(() => clearTimeout(waiting));
    document.addEventListener("visibilitychange", reloadSoon);
    onLeave(() => document.removeEventListener("visibilitychange", reloadSoon));

    fill(root, head, h("div", {class: "bar filters"}, box, menus.map((one) => one.node), archived, h("span", {class: "grow"}), columns.node), chips, selected, notice, table.node, foot);
    await load();
    // After missed changes: removes experiments that were deleted from the selection.
    async function deselectDeleted() {
        const {experiments} = await get(ADDRESS, {...within, columns: "id", limit: -1, archived: "both"}, {signal});
        const left = new Set(experiments.map((one) => one.id));
        for (const id of selection) left.has(id) || selection.delete(id);
        drawSelection();
    }
    live({kinds: ["experiments", "trials", "metrics", "queue"]}, (changes) => {
        for (const id of changes.deleted || []) {
            selection.delete(id);
            known.delete(id);
        }
        values = null;
        reloadSoon();
        return changes.reset && selection.size > 0 && deselectDeleted();
    });
}
