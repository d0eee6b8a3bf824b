// SPDX-License-Identifier: Apache-2.0
// experiments.js - the table of experiments.
//
// The master searches, filters, sorts and counts; the browser shows one page of the result, so a hundred thousand
// experiments cost it no more than a hundred.  The address holds search, query, filters, order, columns and grouping.  The
// selection is kept across pages, filters and changes.
//
// Hyperparameters and metrics are columns, too ("hp.lr", "validation.loss").  Grouped rows are another table
// (experiment_groups.js); saved views are in saved_views.js.
//
// The page of a project shows the same table, limited to its experiments (showExperiments).

import {get, isAbort, post} from "../api.js";
import {showShortcuts} from "../app.js";
import {checkMenu} from "../check_menu.js";
import {comparePane} from "../compare_pane.js";
import {debounce, fill, h} from "../dom.js";
import {groupTable} from "../experiment_groups.js";
import {bytes, duration, number, plural, stateName, time, value as shownValue} from "../format.js";
import {isCell, queryLine, shortName, typedColumns} from "../query_line.js";
import {go, link, setQuery} from "../router.js";
import {may, maySomewhere, seesOnlySome} from "../rights.js";
import {savedViews} from "../saved_views.js";
import {chooseProject, newExperiment} from "../spaces.js";
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
const PANE_MS = 250; // a range is selected row by row

// Queued and without progress: it has not begun.
const isWaiting = (row) => stateName(row.state) === "QUEUED" && !row.progress;

// id: also the name of the sort order; needs: the fields of a row that the cell uses
const COLUMNS = [
    {id: "id", label: "ID", needs: [], isNumber: true, sortable: true, cell: (row) => String(row.id)},
    {id: "name", label: "Name", needs: ["name"], sortable: true, class: "cut", cell: nameCell},
    {id: "state", label: "State", needs: ["state"], sortable: true, cell: (row) => [badge(row.state), row.archived && h("span", {class: "chip"}, "archived")]},
    {id: "progress", label: "Progress", needs: ["progress"], sortable: true, cell: (row) => isWaiting(row) ? h("span", {class: "dim"}, "waiting") : progressBar(row.progress, `Progress of experiment ${row.id}`)},
    {id: "bestMetric", label: "Best metric", needs: ["bestMetric", "searcherMetric"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => row.bestMetric === null ? "" : h("span", {title: row.searcherMetric}, number(row.bestMetric))},
    {id: "metric", label: "Metric", needs: ["searcherMetric"], class: "phone-off cut", cell: (row) => row.searcherMetric},
    {id: "trials", label: "Trials", needs: ["trials"], isNumber: true, sortable: true, class: "phone-off", cell: (row) => number(row.trials)},
    {id: "owner", label: "Owner", needs: ["username"], sortable: true, class: "phone-off", cell: (row) => row.username},
    {id: "start", label: "Started", needs: ["startTime"], sortable: true, class: "phone-off nowrap", cell: (row) => time(row.startTime).slice(0, 16)},
    {id: "end", label: "Ended", needs: ["endTime"], sortable: true, class: "phone-off nowrap", cell: (row) => time(row.endTime).slice(0, 16)},
    {id: "duration", label: "Duration", needs: ["duration", "progress"], isNumber: true, sortable: true, isQuiet: true, class: "phone-off", cell: (row) => row.startTime === null || isWaiting(row) ? "" : duration(row.duration)},
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
// Hyperparameters and metrics stand behind this column.
const CELLS_AFTER = COLUMNS.findIndex((column) => column.id === "metric") + 1;
const GROUP_MOST = 4;
const GROUPABLE = ["name", "state", "owner", "searcher", "pool", "labels", "trials", "priority", "project"];
// the names of columns in a query and in groups, where they differ
const QUERY_NAMES = {labels: "label"};

// A column of a hyperparameter or metric; `kinds`: what its values are, as far as it is known.
function cellColumn(id, kinds) {
    return {id, label: shortName(id), title: `${id.startsWith("hp.") ? "Hyperparameter" : "Metric of the best validation:"} ${shortName(id)}`, needs: [id], sortable: true, isNumber: kinds.get(id) !== "text", class: "cut",
        cell: (row) => cellText(row.cells?.[id])};
}
const cellText = (any) => any === null || any === undefined ? h("span", {class: "dim"}, "–") : typeof any === "number" ? h("span", {title: String(any)}, number(any)) : h("span", {title: String(any)}, shownValue(any));
const isColumn = (id) => isCell(id) || COLUMNS.some((column) => column.id === id);
const inOrder = (ids) => {
    const fixed = COLUMNS.map((column) => column.id).filter((id) => ids.includes(id));
    const cells = [...new Set(ids.filter(isCell))].sort();
    const before = fixed.filter((id) => COLUMNS.findIndex((column) => column.id === id) < CELLS_AFTER);
    return [...before, ...cells, ...fixed.slice(before.length)];
};
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
    columns = (Array.isArray(columns) ? columns : DEFAULT_COLUMNS).filter(isColumn);
    const sort = String(query.sort || "").replace(/^-/, "");
    const by = list(query.by).filter(isColumn).slice(0, GROUP_MOST);
    return {
        search: String(query.search || ""), query: String(query.query || ""), by, states: list(query.states).filter((state) => STATES.includes(state)), users: list(query.users), labels: list(query.labels), searcher: list(query.searcher), pool: list(query.pool),
        archived: ["yes", "both"].includes(query.archived) ? query.archived : "no", sort: isCell(sort) || COLUMNS.some((column) => column.sortable && column.id === sort) || (by.length && sort) ? query.sort : SORT,
        page: Math.min(PAGE_MOST, Math.max(1, Number.parseInt(query.page, 10) || 1)), size: SIZES.includes(query.size) ? query.size : SIZE, columns: columns.length ? inOrder(columns) : DEFAULT_COLUMNS,
    };
}

const LISTS = ["states", "users", "labels", "searcher", "pool"];
const FILTERS = ["search", "query", ...LISTS];
const isFiltered = (view) => FILTERS.some((name) => view[name].length > 0);
const filtersOf = (view) => ({...Object.fromEntries(FILTERS.map((name) => [name, view[name]])), archived: view.archived});

function addressOf(view) {
    const isDefault = view.columns.join() === DEFAULT_COLUMNS.join();
    return {...filtersOf(view), by: view.by, archived: view.archived === "no" ? "" : view.archived, sort: view.sort === SORT ? "" : view.sort,
        page: view.page === 1 ? "" : view.page, size: view.size === SIZE ? "" : view.size, columns: isDefault ? "" : view.columns.join()};
}

export async function page(ctx) {
    ctx.title("Experiments");
    await showExperiments(ctx, {head: h("div", {class: "head"}, h("h1", "Experiments"), h("div", {class: "bar"}, button("Shortcuts", showShortcuts, {kind: "plain phone-off", title: "?"}), maySomewhere("CREATE_EXPERIMENT") && newExperiment()))});
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

    const kinds = new Map(); // "number" or "text", of hyperparameters and metrics seen so far
    const neededColumns = () => [...new Set([...ALWAYS, ...shownColumns().flatMap((column) => column.needs), ...(view.columns.includes("duration") ? ["startTime"] : [])])].join();
    const place = () => ({...within, ...filtersOf(view), offset: (view.page - 1) * view.size, limit: view.size});
    const question = () => view.by.length ? {...place(), ...groups.question(view)} : {...place(), sort: view.sort, columns: neededColumns()};

    async function load() {
        asked?.abort();
        const mine = asked = new AbortController();
        const give = () => mine.abort();
        signal.addEventListener("abort", give);
        try {
            const found = await get(ADDRESS, question(), {signal: mine.signal});
            if (mine !== asked) return;
            reply = found.groups ? {...found, experiments: [], all: found.matches, states: reply.states} : found;
            line.fail("");
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
    // The master explains what it does not understand in a query; that belongs to the query line.
    const failed = (error) => {
        if (isAbort(error) || error.status === 401) return;
        if (error.status === 400 && view.query) line.fail(errorSentence(error));
        else fill(notice, errorBox(error));
    };
    const reload = () => load().catch(failed);

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

    let hasMoreColumns = false; // the master holds a bounded number of names
    let knownColumns = null; // read when they are first needed, and again after changes
    const allColumns = async () => {
        knownColumns ||= get(`${ADDRESS}/columns`, within, {signal});
        try {
            const {columns: found, isCut} = await knownColumns;
            hasMoreColumns = isCut;
            for (const one of found) if (isCell(one.name)) kinds.set(one.name, one.kind);
            return found.filter((one) => !one.name.includes(","));
        } catch (error) {
            knownColumns = null;
            throw error;
        }
    };
    const valuesByColumn = new Map();
    const valuesInQuery = async (typed) => {
        const column = typedColumns(await allColumns()).find((one) => one.typed === typed || one.name === typed)?.name;
        if (!column) return [];
        if (!valuesByColumn.has(column)) {
            const found = column === "state" ? Promise.resolve({groups: [...STATES, "ACTIVE"].map((state) => ({values: [state]}))})
                : get(ADDRESS, {...within, by: column, limit: 100, archived: "both"}, {signal});
            valuesByColumn.set(column, found.then((reply) => reply.groups.map((one) => one.values[0]).filter((one) => one !== null)).catch(() => []));
        }
        return valuesByColumn.get(column);
    };
    const line = queryLine({label: "Query experiments", value: view.query, columns: allColumns, values: valuesInQuery, onQuery: (query) => change({query})});

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
        view.columns = inOrder(chosen);
        if (!view.columns.length) view.columns = ["id"];
        localStorage.setItem(COLUMNS_KEY, JSON.stringify(view.columns));
        setQuery(addressOf(view));
        table.columns(shownColumns());
        reload();
    };
    const columnOptions = async () => [...COLUMNS.map((column) => ({value: column.id, label: column.label})),
        ...(await allColumns()).filter((one) => isCell(one.name)).map((one) => ({value: one.name, count: one.count}))];
    const columns = checkMenu("Columns", {isQuiet: true, options: columnOptions, chosen: () => view.columns, onChange: keepColumns,
        footer: (again) => [hasMoreColumns && h("p", {class: "dim"}, "There are more hyperparameters and metrics than the master can offer as columns."), button("Reset", () => {
            keepColumns(DEFAULT_COLUMNS);
            again();
        }, {kind: "plain"})]});
    const shownColumns = () => view.columns.map((id) => isCell(id) ? cellColumn(id, kinds) : COLUMNS.find((column) => column.id === id));

    // ---- groups

    const groups = groupTable({columnNames: QUERY_NAMES, labelOf: (id) => isCell(id) ? shortName(id) : COLUMNS.find((column) => column.id === id)?.label || id,
        onSort: (sort) => change({sort}), onOpen: (query) => {
            Object.assign(view, {by: [], sort: SORT, query: view.query ? `(${view.query}) and ${query}` : query});
            showView();
        }});
    const grouping = checkMenu("Group", {options: async () => [...COLUMNS.filter((column) => GROUPABLE.includes(column.id)).map((column) => ({value: column.id, label: column.label})),
        ...(await allColumns()).filter((one) => isCell(one.name)).map((one) => ({value: one.name, count: one.count}))],
    chosen: () => view.by, onChange: (chosen) => {
        Object.assign(view, {by: chosen.slice(-GROUP_MOST), sort: SORT});
        showView();
    }});

    // ---- saved views

    // Shows the view as it is now, after more than a filter of it has changed.
    function showView() {
        line.set(view.query);
        box.value = view.search;
        table.columns(shownColumns());
        table.sort(view.sort);
        grouping.paint();
        drawnChoice = "";
        return change({});
    }
    const views = savedViews({current: () => ({...addressOf(view), page: "", columns: view.columns.join()}), onChoose: (saved) => {
        Object.assign(view, viewFrom(saved));
        return showView();
    }});

    // ---- the table

    const table = dataTable({label: "Experiments", columns: shownColumns(), href: (row) => `/experiments/${row.id}`, sort: view.sort, selection,
        onSort: (sort) => change({sort}), onSelect: drawSelection});
    const notice = h("div");
    const chips = h("div", {class: "bar chips"});
    const selected = h("div", {class: "bar selected-bar", role: "region", "aria-label": "Selected experiments", hidden: true});
    new ResizeObserver(() => root.style.setProperty("--over-table", `${selected.offsetHeight}px`)).observe(selected); // the table's head sticks below it
    const foot = h("div", {class: "bar paging"});
    const both = h("div", {class: "beside"}); // the table, and the charts beside it
    const counted = h("span", {class: "dim", role: "status"});

    let drawnChoice = "";
    function drawChoice() {
        clearTimeout(late);
        if (drawnChoice === (drawnChoice = JSON.stringify(filtersOf(view)))) return;
        for (const one of menus) one.paint();
        const rows = LISTS.flatMap((name) => view[name].map((value) => chip(value, () => change({[name]: view[name].filter((one) => one !== value)}))));
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
        line.set("");
        change({search: "", query: "", states: [], users: [], labels: [], searcher: [], pool: []});
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
        if (drawnFoot === (drawnFoot = [view.page, view.size, reply.total, reply.matches].join())) return;
        const range = `${number(first + 1)}–${number(Math.min(first + Number(view.size), reply.total))} of ${number(reply.total)}`;
        counted.textContent = !reply.total ? "" : reply.groups ? `${range} groups of ${plural(reply.matches, "experiment")}` : range;
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
        learnKinds();
        groups.show(reply, view);
        table.rows(reply.experiments);
        const nothingNode = nothing();
        fill(notice, nothingNode);
        table.node.hidden = !!nothingNode || !!reply.groups;
        groups.node.hidden = !!nothingNode || !reply.groups;
        drawChoice();
        drawFoot();
        drawSelection();
        shownAt = performance.now();
        root.dataset.shown = String(1 + Number(root.dataset.shown || 0)); // tests and benchmarks wait for this
    }

    // Texts are aligned to the left.  A column is drawn again when its first value is known.
    function learnKinds() {
        let isNews = false;
        for (const id of view.columns.filter(isCell)) {
            const value = reply.experiments.map((row) => row.cells?.[id]).find((one) => one !== null && one !== undefined);
            const kind = value === undefined ? kinds.get(id) : typeof value === "string" && !["NaN", "Infinity", "-Infinity"].includes(value) ? "text" : "number";
            isNews ||= (kinds.get(id) === "text") !== (kind === "text");
            if (kind) kinds.set(id, kind);
        }
        if (isNews) table.columns(shownColumns());
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

    const pane = comparePane({onClose: () => togglePane()});
    onLeave(() => pane.hide());
    const paneSoon = debounce(() => pane.isOpen() && pane.show([...selection].slice(0, COMPARE_MOST)), PANE_MS);
    function togglePane() {
        if (pane.isOpen()) pane.hide();
        else pane.show([...selection].slice(0, COMPARE_MOST));
        both.classList.toggle("with-pane", pane.isOpen());
        drawnCount = -1;
        drawSelection();
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
        paneSoon();
        if (state === drawnCount) return;
        drawnCount = state;
        const held = selected.contains(document.activeElement) ? document.activeElement.textContent : null;
        fill(selected, h("strong", `${number(selection.size)} selected`), h("span", {class: "dim", hidden: here === selection.size}, `${number(selection.size - here)} of them not on this page`),
            isWhole && button(`Select all ${number(reply.total)} that match`, doing(selectAll), {kind: "plain"}), button("Clear selection", selectNone, {kind: "plain", title: "Esc"}),
            h("span", {class: "grow"}),
            button("Charts", togglePane, {"aria-pressed": String(pane.isOpen()), title: "Charts beside the table (v)"}),
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
        ["v", "Show or hide the charts of the selected experiments", () => (selection.size > 0 || pane.isOpen()) && togglePane()],
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

    fill(root, head, h("div", {class: "bar filters"}, box, menus.map((one) => one.node), archived), h("div", {class: "bar query-bar"}, line.node, views.node, grouping.node, columns.node), chips, selected, both);
    fill(both, h("div", notice, table.node, groups.node, foot), pane.node);
    groups.node.hidden = true;
    try {
        await load();
    } catch (error) {
        if (error.status !== 400 || !view.query) throw error;
        failed(error);
    }
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
        values = knownColumns = null;
        valuesByColumn.clear();
        reloadSoon();
        pane.update(changes);
        return changes.reset && selection.size > 0 && deselectDeleted();
    });
}
