// SPDX-License-Identifier: Apache-2.0
// cluster_log.js - the last lines of the master's log, followed; for administrators.
//
// The address holds all choices: ?level=&text=.  The page keeps as many lines as the master does.

import {isAbort, stream} from "../api.js";
import {debounce, fill, h} from "../dom.js";
import {plural, time} from "../format.js";
import {link, setQuery} from "../router.js";
import {loadStylesheet} from "../stylesheet.js";
import {button, empty, errorBox, saveAs, select} from "../widgets.js";

const MOST = 5000;
const LEVELS = ["ERROR", "WARNING", "INFO", "DEBUG", "TRACE"];
const SLACK_PX = 40; // so near to the end counts as there

const levelOf = (entry) => entry.level.replace("LOG_LEVEL_", "");
const textOf = (entry) => `${entry.timestamp} ${levelOf(entry).padEnd(7)} ${entry.message}`;
const lineOf = (entry) => h("li", {class: levelOf(entry)}, h("time", {datetime: entry.timestamp}, time(entry.timestamp)), h("b", levelOf(entry)), h("span", entry.message));

export async function page({root, query, title, signal}) {
    title("Master log");
    await loadStylesheet(new URL("cluster_history.css", import.meta.url));
    const chosen = {level: LEVELS.includes(query.level) ? query.level : "", text: query.text || ""};
    const list = h("ol");
    const none = empty(h("p", "No lines match."));
    const pane = h("div", {class: "card master-log", role: "log", "aria-label": "Lines of the master's log", tabindex: 0}, list);
    const counted = h("span", {class: "dim", role: "status"});
    const place = h("div", pane, none);
    let entries = [];
    let shown = 0;

    const fits = (entry) => (!chosen.level || LEVELS.indexOf(levelOf(entry)) <= LEVELS.indexOf(chosen.level)) &&
        (!chosen.text || entry.message.toLowerCase().includes(chosen.text.toLowerCase()));
    const sum = () => {
        counted.textContent = shown === entries.length ? plural(shown, "line") : `${shown} of ${plural(entries.length, "line")}`;
        none.hidden = shown > 0;
        pane.hidden = shown === 0;
    };
    const toEnd = () => pane.scrollTop = pane.scrollHeight;
    function draw() {
        const some = entries.filter(fits);
        shown = some.length;
        fill(list, some.map(lineOf));
        sum();
        toEnd();
    }
    function add(some) {
        const isAtEnd = pane.hidden || pane.scrollHeight - pane.scrollTop - pane.clientHeight < SLACK_PX;
        const fitting = some.filter(fits);
        entries.push(...some);
        if (entries.length > MOST + 500) {
            entries = entries.slice(-MOST);
            return draw();
        }
        shown += fitting.length;
        list.append(...fitting.map(lineOf));
        sum();
        if (isAtEnd) toEnd();
    }
    const choose = (changes) => {
        Object.assign(chosen, changes);
        setQuery(changes);
        draw();
    };
    const fail = (error) => {
        if (isAbort(error)) return;
        fill(place, errorBox(error.status === 403 ? "Only administrators may read the master's log." : error));
    };

    fill(root, h("div", {class: "head"}, h("div", h("p", link("/cluster", {}, "Cluster")), h("h1", "Master log"))),
        h("p", {class: "dim"}, "The last lines since the master started; new ones appear as they are written. The master's own log file has all of them."),
        h("div", {class: "bar"}, select([["", "All levels"], ["ERROR", "Errors"], ["WARNING", "Warnings and errors"], ["INFO", "Information and above"]], chosen.level, (level) => choose({level}), {"aria-label": "Level"}),
            h("input", {type: "search", placeholder: "Search", "aria-label": "Search in the log", value: chosen.text, oninput: debounce((event) => choose({text: event.target.value.trim()}), 200)}),
            button("Save", () => saveAs("master.log", new Blob([entries.filter(fits).map(textOf).join("\n") + "\n"])), {icon: "download"}), counted),
        place);
    sum();
    // Lines come one by one; they are drawn together.
    let fresh = [];
    stream("/api/v1/master/logs", {follow: true}, ({result, error}) => {
        if (error) return fail(new Error(error.message || "the stream of the log ended"));
        if (fresh.push(result.logEntry) === 1) setTimeout(() => add(fresh.splice(0)), 50);
    }, {signal}).catch(fail);
}
