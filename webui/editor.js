// SPDX-License-Identifier: Apache-2.0
// editor.js - text with line numbers, and a configuration editor that checks while the user types.
//
//   const editor = configEditor({value, kind: "experiment", continues: 0, label, onChecked});
//   editor.node; editor.text(); editor.set(text); await editor.check(); editor.focus()
//
// The master finds the problems (POST /api/v1/det/check), with the sentences that the command line prints.  The margin
// marks their lines; a list below links to them.  Tab moves the focus as everywhere; Ctrl-] types two spaces.

import {isAbort, post} from "./api.js";
import {debounce, fill, h} from "./dom.js";
import {plural} from "./format.js";
import {loadStylesheet} from "./stylesheet.js";
import {freshId} from "./widgets.js";
import {yamlLine} from "./yaml.js";

void loadStylesheet(new URL("./pages/experiment.css", import.meta.url));

const WAIT_MS = 250;
const LINE_PX = 20; // same as in experiment.css
const SPARE = 10; // extra lines above and below the visible ones
const COLOURED_MOST = 2000; // characters; longer lines are not coloured

// Read-only text with line numbers: `line(text, i)` returns the nodes of a line.
export function numbered(text, line = (one) => one, label = "Text") {
    const lines = text.replace(/\n$/, "").split("\n");
    return h("div", {class: "numbered", tabindex: 0, role: "region", "aria-label": label},
        h("pre", {class: "gutter", "aria-hidden": "true"}, lines.map((_, i) => i + 1).join("\n")),
        h("pre", {class: "source"}, h("code", lines.map((one, i) => [line(one, i), "\n"]))));
}

// A textarea over a coloured copy of its text; the gutter marks lines.  The copy holds only the visible lines and moves
// with the textarea, so even a pasted megabyte stays fast.
export function textEditor({value = "", label, rows = 24, colour = (one) => one, onInput}) {
    const numbers = h("div", {class: "lines"});
    const copied = h("div", {class: "lines"});
    const gutter = h("div", {class: "gutter", "aria-hidden": "true"}, numbers);
    const copy = h("pre", {class: "copy", "aria-hidden": "true"}, copied);
    const area = h("textarea", {class: "code", rows, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": label, value});
    let marks = new Map(); // line -> kind
    let lines = [];
    let first = 0; // the first line of the copy
    const firstInSight = () => Math.floor(area.scrollTop / LINE_PX);
    function show() {
        const count = Math.ceil((area.clientHeight || rows * LINE_PX) / LINE_PX);
        first = Math.max(0, firstInSight() - SPARE);
        const part = lines.slice(first, first + count + 2 * SPARE);
        fill(numbers, part.map((_, i) => h("div", {class: marks.get(first + i + 1)}, first + i + 1)));
        fill(copied, part.map((one, i) => h("div", {class: marks.get(first + i + 1)}, one.length > COLOURED_MOST ? one : colour(one), "\n")));
        move();
    }
    function move() {
        const down = first * LINE_PX - area.scrollTop;
        numbers.style.transform = `translateY(${down}px)`;
        copied.style.transform = `translate(${-area.scrollLeft}px, ${down}px)`;
    }
    function scroll() {
        const at = firstInSight();
        if (at < first || at > first + SPARE) show();
        else move();
    }
    function draw() {
        lines = area.value.split("\n");
        gutter.style.width = `calc(${String(lines.length).length}ch + 1rem)`;
        show();
    }
    area.addEventListener("input", () => {
        draw();
        onInput?.(area.value);
    });
    new ResizeObserver(show).observe(area);
    area.addEventListener("scroll", scroll);
    area.addEventListener("keydown", (event) => {
        if (event.key !== "]" || !event.ctrlKey) return;
        event.preventDefault();
        area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
        area.dispatchEvent(new Event("input"));
    });
    draw();
    return {
        node: h("div", {class: "editor"}, gutter, h("div", {class: "pane"}, copy, area)), area,
        text: () => area.value,
        set(text) {
            area.value = text;
            draw();
            onInput?.(text);
        },
        mark(map) {
            marks = map;
            show();
        },
        focus() { // at the beginning of the text
            area.focus();
            area.setSelectionRange(0, 0);
            area.scrollTop = 0;
        },
        goTo(line, column) {
            const before = area.value.split("\n").slice(0, line - 1);
            const at = before.reduce((sum, one) => sum + one.length + 1, 0) + Math.max(column - 1, 0);
            area.focus();
            area.setSelectionRange(at, at);
            area.scrollTop = Math.max(0, (line - 5) * LINE_PX);
        },
    };
}

const placeOf = (problem) => problem.line ? `line ${problem.line}` : "";

// How many trials the configuration would run.
function planText(trials) {
    if (!trials?.length) return "";
    const count = trials.reduce((sum, row) => sum + row.count, 0);
    return count > 1 ? `It would run ${plural(count, "trial")}.` : "It would run one trial.";
}

export function configEditor({value = "", kind = "experiment", continues = 0, label = "Configuration", rows, onChecked}) {
    const verdict = h("div", {class: "verdict", role: "status"});
    const list = h("ul", {class: "problems", id: freshId("problems")});
    let call = null;
    let last = null; // the reply for the current text
    const later = debounce(check, WAIT_MS);
    const editor = textEditor({value, label, rows, colour: yamlLine, onInput: () => {
        last = null;
        later();
    }});
    editor.area.setAttribute("aria-describedby", list.id);

    function show(reply) {
        const marks = new Map();
        for (const problem of reply.problems) if (marks.get(problem.line) !== "error") marks.set(problem.line, problem.severity);
        editor.mark(marks);
        editor.area.setAttribute("aria-invalid", reply.errors > 0);
        fill(verdict, reply.errors ? h("strong", {class: "bad-text"}, `${plural(reply.errors, "problem")}.`) : h("strong", {class: "good-text"}, "No problems."), " ",
            reply.errors ? "" : planText(reply.trials), reply.notices > 0 && ` ${plural(reply.notices, "notice")}.`);
        fill(list, reply.problems.map((problem) => h("li", {class: problem.severity},
            problem.line ? h("button", {type: "button", class: "place", onclick: () => editor.goTo(problem.line, problem.column)}, placeOf(problem)) : null, " ", problem.text)));
        onChecked?.(reply);
    }

    // Resolves with the reply, or with null if the text has changed since.
    async function check() {
        later.cancel();
        call?.abort();
        const own = call = new AbortController();
        try {
            const reply = await post("/api/v1/det/check", {config: editor.text(), kind, ...(continues ? {continues} : {})}, {signal: own.signal});
            if (own !== call) return null;
            last = reply;
            show(reply);
            return reply;
        } catch (error) {
            if (isAbort(error)) return null;
            fill(verdict, h("strong", {class: "bad-text"}, "The check failed: "), error.message, ".");
            return null;
        }
    }
    check();
    return {node: h("div", {class: "config-editor"}, editor.node, verdict, list), text: editor.text, set: editor.set, focus: editor.focus,
        check: async () => last || check(), area: editor.area};
}
