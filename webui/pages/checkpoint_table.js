// SPDX-License-Identifier: Apache-2.0
// checkpoint_table.js - the table of checkpoints, the same on the pages of experiments and of trials.
//
//   const table = checkpointTable(place, {
//       address: "/api/v1/trials/3/checkpoints", metric: "loss", experiment, signal,
//       total: () => [count, bytes],      of the checkpoints that are not deleted
//       trialAddress: (id) => "/trials/3",     if the checkpoints are of several trials
//       details: (row) => …,              shows one checkpoint; resolves when it is closed
//   });
//   await table.read(); table.drawTop()
//
// In the address: sort, offset, deleted (1: deleted checkpoints are listed, too), checkpoint (the UUID of the open one).

import {del, get} from "../api.js";
import {fill, h} from "../dom.js";
import {ago, bytes, number, plural, stateName, time} from "../format.js";
import {rightsOnExperiment} from "../rights.js";
import {link, readQuery, setQuery} from "../router.js";
import {dataTable, pager} from "../table.js";
import {badge, button, confirm, copyButton, empty, icon, toast, toastError} from "../widgets.js";

const PAGE = 100;
const SORTS = {uuid: "SORT_BY_UUID", trial: "SORT_BY_TRIAL_ID", steps: "SORT_BY_BATCH_NUMBER", time: "SORT_BY_END_TIME", state: "SORT_BY_STATE", metric: "SORT_BY_SEARCHER_METRIC"};
const KEPT = ["STATE_ACTIVE", "STATE_COMPLETED", "STATE_ERROR", "STATE_PARTIALLY_DELETED"];

export const filesOf = (row) => Object.entries(row.resources || {}).filter(([name]) => !name.endsWith("/"));
export const sizeOf = (row) => filesOf(row).reduce((sum, [, size]) => sum + Number(size), 0);
export const isWhole = (row) => stateName(row.state) === "COMPLETED";
const shortOf = (uuid) => uuid.slice(0, 8);

export function checkpointTable(place, {address, metric, experiment, signal, total, trialAddress, details}) {
    const query = readQuery();
    const asked = String(query.sort || "");
    let sort = SORTS[asked.replace("-", "")] ? asked : "-time";
    let offset = Number(query.offset) || 0;
    let hasDeleted = query.deleted === "1";
    let rows = [];
    let deleted = 0; // how many there are
    let reads = 0; // only the last reply counts
    const mayDelete = rightsOnExperiment(experiment).control;
    const selection = mayDelete ? new Set() : null;
    const top = h("div", {class: "bar"});
    const body = h("div");
    const foot = h("div");

    const open = async (row) => {
        setQuery({checkpoint: row.uuid});
        try {
            await details(row);
        } catch (error) {
            toastError(error);
        }
        setQuery({checkpoint: null});
    };
    const remove = async (uuids) => {
        const subject = uuids.length === 1 ? `Checkpoint ${uuids[0]}` : plural(uuids.length, "checkpoint");
        if (!await confirm(`Delete ${plural(uuids.length, "checkpoint")}?`, `${subject}: the files are deleted permanently.`, "Delete", "danger")) return;
        try {
            await del("/api/v1/checkpoints", {checkpointUuids: uuids});
            for (const uuid of uuids) selection.delete(uuid);
            toast(`${subject} ${uuids.length === 1 ? "is" : "are"} being deleted.`);
            await read();
        } catch (error) {
            toastError(error);
        }
    };
    const again = (changes) => {
        setQuery(changes);
        read().catch(toastError);
    };

    const uuidCell = ({uuid}) => h("span", {class: "bar nowrap uuid"}, h("code", {title: uuid}, shortOf(uuid)),
        copyButton(uuid, "", {kind: "plain small", title: "Copy the UUID", "aria-label": `Copy the UUID of checkpoint ${shortOf(uuid)}`}));
    const actions = (row) => h("span", {class: "bar nowrap"},
        button("Show", () => void open(row), {"aria-label": `Show checkpoint ${shortOf(row.uuid)}`}),
        isWhole(row) && [
            h("a", {class: "button plain", href: `/checkpoints/${row.uuid}?format=tgz`, download: `checkpoint-${row.uuid}.tar.gz`, "aria-label": `Download checkpoint ${shortOf(row.uuid)}`, title: "Download (tar.gz)"}, icon("download")),
            mayDelete && button("", () => remove([row.uuid]), {kind: "plain danger-text changes", icon: "cross", "aria-label": `Delete checkpoint ${shortOf(row.uuid)}`, title: "Delete"})]);
    const table = dataTable({
        label: "Checkpoints", sort, selection, key: (row) => row.uuid, onOpen: (row) => void open(row), onSelect: () => drawTop(),
        onSort: (next) => {
            sort = next;
            offset = 0;
            again({sort: next, offset: null});
        },
        columns: [
            {id: "uuid", label: "Checkpoint", sortable: true, cell: uuidCell},
            trialAddress && {id: "trial", label: "Trial", sortable: true, isNumber: true, cell: (row) => row.training?.trialId ? link(trialAddress(row.training.trialId), {}, row.training.trialId) : "–"},
            {id: "steps", label: "Steps", sortable: true, isNumber: true, cell: (row) => number(row.metadata?.steps_completed)},
            {id: "metric", label: metric || "Metric", sortable: true, isNumber: true, class: "phone-off", cell: (row) => number(row.training?.searcherMetric) || "–"},
            {id: "time", label: "Saved", isQuiet: true, sortable: true, class: "phone-off", cell: (row) => h("span", {title: time(row.reportTime)}, ago(row.reportTime))},
            {id: "size", label: "Size", isNumber: true, cell: (row) => isWhole(row) ? bytes(sizeOf(row)) : "–"},
            {id: "files", label: "Files", isNumber: true, class: "phone-off", cell: (row) => isWhole(row) ? number(filesOf(row).length) : "–"},
            {id: "state", label: "State", sortable: true, class: "phone-off", cell: (row) => badge(row.state)},
            {id: "actions", label: h("span", {class: "hidden"}, "Actions"), cell: actions},
        ].filter(Boolean),
    });

    function drawTop() {
        const chosen = rows.filter((row) => selection?.has(row.uuid) && isWhole(row)).map((row) => row.uuid);
        const [count, size] = total();
        const hadFocus = top.contains(document.activeElement);
        fill(top, h("span", {class: "dim", role: "status"}, `${plural(count, "checkpoint")}, ${bytes(size)}`, deleted > 0 && !hasDeleted && `; ${number(deleted)} deleted, not shown`), h("span", {class: "grow"}),
            chosen.length > 0 && button(`Delete ${number(chosen.length)}`, () => remove(chosen), {kind: "danger changes"}),
            (deleted > 0 || hasDeleted) && button("Show deleted", () => {
                hasDeleted = !hasDeleted;
                offset = 0;
                again({deleted: hasDeleted ? "1" : null, offset: null});
            }, {"aria-pressed": String(hasDeleted), title: "Also list checkpoints whose files were deleted"}));
        if (hadFocus) top.querySelector("button:last-child")?.focus();
    }

    async function read() {
        const mine = ++reads;
        const page = get(address, {sortByAttr: SORTS[sort.replace("-", "")], orderBy: sort.startsWith("-") ? "ORDER_BY_DESC" : "ORDER_BY_ASC", offset, limit: PAGE, states: hasDeleted ? [] : KEPT}, {signal});
        const gone = get(address, {states: ["STATE_DELETED"], limit: 1}, {signal}); // for their number
        const [reply, {pagination}] = await Promise.all([page, gone]);
        if (mine !== reads) return;
        if (!reply.checkpoints.length && offset) { // this page has been deleted
            offset = 0;
            return again({offset: null});
        }
        rows = reply.checkpoints;
        deleted = pagination.total;
        drawTop();
        table.rows(rows);
        fill(body, rows.length ? table.node : empty(deleted ? "All checkpoints were deleted." : "No checkpoint has been saved yet."));
        fill(foot, pager(offset, reply.pagination.total, PAGE, (next) => {
            offset = next;
            again({offset: next || null});
        }));
    }

    // The checkpoint that the address names, also if this page of the table does not list it.
    async function openNamed() {
        const wanted = readQuery().checkpoint;
        if (!wanted) return;
        const row = rows.find((one) => one.uuid === wanted) || (await get(`/api/v1/checkpoints/${encodeURIComponent(wanted)}`, {}, {signal}).catch(() => null))?.checkpoint;
        if (row && row.training?.experimentId === experiment.id) return void open(row);
        toast("There is no such checkpoint here.", "bad");
        setQuery({checkpoint: null});
    }

    fill(place, h("div", {class: "pile"}, top, body, foot));
    return {read, drawTop, openNamed};
}
