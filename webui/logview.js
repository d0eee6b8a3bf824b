// SPDX-License-Identifier: Apache-2.0
// logview.js - a task's log: any number of lines, of which the page holds a few hundred.
//
//   const view = await logView(node, {taskId, ctx});
//
// A page that has a change stream sets isFed and calls view.readNewLines() for new lines: a page has only one stream.
//
// Lines are numbered.  The page holds a window of consecutive lines.  Near an edge of the window more lines are read, and
// as many are dropped at the other end, so a million lines cost as much as a thousand and the browser does the scrolling.
// The track on the right shows and sets the position in the whole log: browsers cannot scroll hundreds of millions of
// pixels, but the track can address every line.  Filters leave the same window over fewer lines.
//
// A line that is being rewritten (a progress bar) has no number yet.  It stands below the last line and changes there;
// when it has ended, it comes as an ordinary line.
//
// The address holds all choices: level, rank, stream, q, regex, case, line, nowrap.

import {get, isAbort, queryText, stream} from "./api.js";
import {debounce, fill, h, throttle} from "./dom.js";
import {bytes, number, time} from "./format.js";
import {clock, hitNodes, isMarked, marker, placeOf, plain, textNodes} from "./logtext.js";
import {readQuery, setQuery} from "./router.js";
import {loadStylesheet} from "./stylesheet.js";
import {button, errorSentence, icon, toast, toastError, toClipboard} from "./widgets.js";

const PAGE = 300; // lines read at once
const MOST = 900; // lines in the page
const EDGE = 1200; // pixels from an edge at which more lines are read
const MOST_HITS = 10000;
const HIT_HEIGHT = 24;
const FAR = 3000; // with more new lines than this, jump to the end instead of reading them

const LEVELS = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
const SHORT = {TRACE: "TRACE", DEBUG: "DEBUG", INFO: "INFO", WARNING: "WARN", ERROR: "ERROR", CRITICAL: "CRIT"};

// Lines without a level are program output; they count as INFO.
const levelsFrom = (level) => level && [...LEVELS.slice(LEVELS.indexOf(level)), ...(LEVELS.indexOf(level) <= 2 ? ["UNSPECIFIED"] : [])].join(",");

export async function logView(node, {taskId, ctx, name = taskId, isFed = false}) {
    const base = `/api/v1/det/tasks/${encodeURIComponent(taskId)}`;
    const from = readQuery();
    const chosen = {
        level: LEVELS.includes(from.level) ? from.level : "", rank: from.rank || "", stream: ["stdout", "stderr"].includes(from.stream) ? from.stream : "",
        text: from.q || "", isRegex: Boolean(from.regex), isExact: Boolean(from.case), wraps: !from.nowrap,
    };
    let selection = rangeOf(from.line);
    let mark = marker(chosen);
    await loadStylesheet(new URL("logview.css", import.meta.url));

    // ---- parts ----

    const list = h("div", {class: "log-list"});
    const liveList = h("div", {class: "log-list log-live", "aria-live": "off", hidden: true});
    const lines = h("div", {class: "log-lines", role: "log", "aria-label": "Log lines", "aria-live": "off", tabindex: 0}, list, liveList);
    const thumb = h("div", {class: "log-thumb"});
    const ticks = h("div");
    const track = h("div", {class: "log-track", role: "slider", "aria-label": "Position in the log", "aria-orientation": "vertical", tabindex: 0}, ticks, thumb);
    const bubble = h("div", {class: "log-bubble", hidden: true});
    const none = h("div", {class: "log-none", hidden: true});
    const pane = h("div", {class: "log-pane"}, lines, track, bubble, none);
    const status = h("span", {class: "grow", role: "status"});
    const fresh = button("", () => follow(true), {class: "button new", hidden: true});
    const followButton = h("button", {type: "button", class: "button", "aria-pressed": "false", title: "Follow new lines (f)", onclick: () => follow(!follows)}, h("span", {class: "log-dot"}), "Follow");
    const foot = h("div", {class: "log-foot"}, status, fresh, followButton);
    const box = h("section", {class: ["log", chosen.wraps && "wraps"], "aria-label": "Log"});

    const query = h("input", {type: "search", "aria-label": "Search the log", placeholder: "Search", value: chosen.text, spellcheck: "false", autocomplete: "off"});
    const toggle = (label, title, key) => {
        const made = h("button", {type: "button", class: "button", title, "aria-label": title, "aria-pressed": String(chosen[key]), onclick: () => {
            chosen[key] = !chosen[key];
            made.setAttribute("aria-pressed", String(chosen[key]));
            searchAgain();
        }}, label);
        return made;
    };
    const found = h("span", {class: "log-found", "aria-live": "polite"});
    const previous = button("", () => goToHit(-1), {icon: "left", "aria-label": "Previous hit", title: "Previous hit (N)", disabled: true});
    const next = button("", () => goToHit(1), {icon: "right", "aria-label": "Next hit", title: "Next hit (n)", disabled: true});
    const listButton = button("List", () => showList(hitBox.hidden), {"aria-pressed": "false", title: "List all hits", disabled: true});
    const hitRows = h("div", {tabindex: -1});
    const hitTitle = h("span");
    const hitBox = h("aside", {class: "log-hits", hidden: true, "aria-label": "Hits"}, h("header", hitTitle, button("", () => showList(false), {kind: "plain", icon: "cross", "aria-label": "Close the list"})), hitRows);

    const picker = (label, key, options) => h("select", {"aria-label": label, title: label, value: chosen[key], onchange: (event) => {
        chosen[key] = event.target.value;
        filterAgain();
    }}, options.map(([value, text]) => h("option", {value}, text)));
    const level = picker("Level", "level", [["", "All levels"], ...LEVELS.slice(1).map((one) => [one, one === "CRITICAL" ? one : `${one} and above`])]);
    const rank = picker("Rank", "rank", [["", "All ranks"], ...(chosen.rank ? [[chosen.rank, `Rank ${chosen.rank}`]] : [])]);
    const streams = picker("Stream", "stream", [["", "stdout + stderr"], ["stdout", "stdout"], ["stderr", "stderr"]]);
    rank.hidden = !chosen.rank;
    const goto = h("input", {class: "log-goto", "aria-label": "Go to line or time", placeholder: "Go to line or time", title: "1234 · 14:30 · 2026-11-15 14:30:05 · end", autocomplete: "off", onkeydown: (event) => event.key === "Enter" && goTo(goto.value)});
    const wrap = button("Wrap", () => setWrap(!chosen.wraps), {"aria-pressed": String(chosen.wraps), title: "Wrap long lines (w)"});
    const download = h("a", {class: "button", "aria-label": "Download", download: `${name}.log`.replace(/[^\w.-]+/g, "-"), title: "Download the log as a text file; filters apply"}, icon("download"), h("span", {class: "phone-off"}, "Download"));

    fill(box, h("div", {class: "log-tools", role: "toolbar", "aria-label": "Log"},
        h("div", {class: "log-group log-find"}, query, toggle("Aa", "Match case", "isExact"), toggle(".*", "Regular expression", "isRegex"), previous, next, listButton, found),
        h("div", {class: "log-group"}, level, rank, streams), goto,
        h("div", {class: "log-group log-more"}, wrap, button(h("span", {class: "phone-off"}, "Copy"), copy, {icon: "copy", "aria-label": "Copy", title: "Copy the selected lines, or the visible ones"}), download)), pane, hitBox, foot);
    fill(node, box);

    // ---- the window ----

    let rows = []; // [{n, at, day, level, rank, stdio, text, cut, node, body}], consecutive
    let before = null; // where the lines before the window are read from; null: there are none
    let after = 1; // where the lines after the window are read from
    let isAtEnd = false; // there were no lines after the window
    let span = {first: 1, last: 0}; // the lines of the whole log
    let live = []; // the lines that are being rewritten, as the master last sent them
    let follows = false;
    let seen = 0; // the last line when the user was last at the end
    let turn = null; // AbortController of the call that fills the window
    let filling = null; // a promise: the window is filled
    let reading = {before: null, after: null}; // promises: the lines at the edges are read
    let drawn = 0;
    let byHand = false; // the user has scrolled since the window was filled
    let lastTop = 0;
    let anchor = null; // {n, part}: the line at the top, restored when the width changes

    const filters = () => ({levels: levelsFrom(chosen.level), ranks: chosen.rank, streams: chosen.stream});
    const isFiltered = () => Boolean(chosen.level || chosen.rank || chosen.stream);

    // Reads at least `count` lines that pass the filters, or all there are.
    async function collect(ask, count, signal) {
        const out = [];
        let reply, at = null;
        do {
            reply = await get(base + "/lines", {...filters(), count, ...ask}, {signal});
            at ??= reply.at;
            span = {first: reply.first, last: Math.max(reply.last, span.last)};
            live = reply.live;
            if (ask.before) out.unshift(...reply.lines);
            else out.push(...reply.lines);
            ask = {before: ask.before, from: reply.next};
            if (!reply.isEnd && out.length < count) setStatus(`Scanning line ${number(reply.next)} of ${number(span.last)} …`);
        } while (!reply.isEnd && out.length < count);
        return {lines: out, next: reply.next, isEnd: reply.isEnd, at};
    }

    function rowOf([n, at, lvl, rk, stdio, text, cut]) {
        const row = {n, at, day: time(at).slice(0, 10), level: lvl, rank: rk, stdio, text, cut: cut || 0, isWhole: false};
        row.body = h("span", {class: "tx"});
        row.node = h("div", {class: ["ln", lvl && "lv-" + lvl.toLowerCase()], "data-n": n},
            n ? h("a", {class: "no", href: addressOf({line: n}), tabindex: -1, "aria-label": `Line ${n}`}, n) : h("span", {class: "no", title: "This line is being rewritten"}, "\u2026"),
            h("span", {class: "tm", title: `${time(at)} · ${stdio || ""}`}, clock(at)),
            h("span", {class: "rk"}, rk === null ? "" : rk),
            h("span", {class: "lv"}, SHORT[lvl] || (stdio === "stderr" ? "err" : "")), row.body);
        drawText(row);
        drawMarks(row);
        return row;
    }

    function drawText(row) {
        const more = row.cut > 0 && h("button", {type: "button", class: "all", onclick: () => showAll(row)}, row.isWhole ? "show less" : `show all (${bytes(row.cut + row.text.length)})`);
        const far = !row.isWhole && hits.far.get(row.n);
        fill(row.body, far && isBehind(row, far) ? hitNodes(far[5], mark, {before: 64, most: far[5].length, isCut: true}) : textNodes(row.isWhole || row.text, mark), more);
    }

    // Whether the shown part of a long line does not contain its hit, but the text sent with the hit does.
    function isBehind(row, [, , , , , text, , skipped]) {
        return row.cut > 0 && (mark ? !isMarked(row.text, mark) && isMarked(text, mark) : skipped > row.text.length);
    }

    async function showAll(row) {
        try {
            if (row.isWhole) row.isWhole = false;
            else row.isWhole = (await get(base + "/lines", {from: row.n, count: 1, cut: 0}, {signal: ctx.signal})).lines[0][5];
            drawText(row);
        } catch (error) {
            toastError(error);
        }
    }

    function drawMarks(row) {
        row.node.classList.toggle("chosen", Boolean(selection) && row.n >= selection.from && row.n <= selection.to);
        row.node.classList.toggle("hit", hits.numbers.has(row.n));
    }

    // Marks the first line of each day and sets the widths of the columns.
    function updateColumns() {
        rows.forEach((row, i) => {
            const isNew = i ? rows[i - 1].day !== row.day : before === null;
            if (isNew) row.node.dataset.day = row.day;
            else delete row.node.dataset.day;
        });
        const last = rows.at(-1);
        box.style.setProperty("--log-digits", `${Math.max(5, String(last ? last.n : 1).length + 1)}ch`);
        box.style.setProperty("--log-ranks", rows.some((row) => row.rank !== null) ? "3ch" : "0");
        none.hidden = rows.length > 0 || !liveList.hidden;
        if (!rows.length) fill(none, isFiltered() ? "No lines match the filters." : "No lines yet.");
    }

    // Only below the last line: elsewhere it would seem to be the line after those in the window.
    function drawLive() {
        const shown = isAtEnd ? live : [];
        liveList.hidden = !shown.length;
        fill(liveList, shown.map((line) => rowOf(line).node));
        if (shown.length) none.hidden = true;
        if (follows) toBottom();
    }

    function trim(fromTop) {
        const extra = rows.length - MOST;
        if (extra <= 0) return;
        const gone = fromTop ? rows.splice(0, extra) : rows.splice(rows.length - extra);
        const height = fromTop ? rows[0].node.offsetTop - gone[0].node.offsetTop : 0;
        for (const row of gone) row.node.remove();
        if (fromTop) {
            before = rows[0].n;
            lines.scrollTop -= height;
        } else {
            after = gone[0].n;
            isAtEnd = false;
        }
        lastTop = lines.scrollTop;
    }

    function addBehind(more) {
        const made = more.map(rowOf);
        rows.push(...made);
        list.append(...made.map((row) => row.node));
        if (rows.length - MOST > 0) trim(true);
        updateColumns();
    }

    function addBefore(more) {
        const made = more.map(rowOf);
        const height = list.offsetHeight;
        rows.unshift(...made);
        list.prepend(...made.map((row) => row.node));
        updateColumns();
        lines.scrollTop += list.offsetHeight - height;
        lastTop = lines.scrollTop;
        trim(false);
    }

    // Fills the window at a place: {line}, {time} or {isEnd}.
    const show = (place, options) => filling = fillWindow(place, options);

    async function fillWindow(place, {selects = false} = {}) {
        turn?.abort();
        const mine = turn = new AbortController();
        const signal = AbortSignal.any([mine.signal, ctx.signal]);
        box.setAttribute("aria-busy", "true");
        try {
            let head = {lines: [], isEnd: true}, back;
            if (place.isEnd) {
                back = await collect({before: true}, PAGE, signal);
                head.next = back.at;
            } else {
                head = await collect(place.time ? {time: place.time} : {from: place.line}, PAGE, signal);
                back = await collect({before: true, from: head.at}, PAGE / 2, signal);
            }
            rows = [...back.lines, ...head.lines].map(rowOf);
            before = back.isEnd ? null : back.next;
            after = head.next;
            isAtEnd = head.isEnd;
            reading = {before: null, after: null};
            byHand = false;
            list.replaceChildren(...rows.map((row) => row.node));
            drawLive();
            if (selects) select(head.at, head.at);
            updateColumns();
            if (place.isEnd) toBottom();
            else reveal(head.at, selects ? 0.35 : 0);
            if (place.isEnd || seen === 0) seen = span.last;
            box.dataset.at = place.isEnd ? "end" : head.at;
            box.dataset.drawn = ++drawn; // tests and benchmarks wait for it
            scrolled();
            return true;
        } catch (error) {
            if (!isAbort(error)) failed(error);
            return false;
        } finally {
            if (turn === mine) box.removeAttribute("aria-busy");
        }
    }

    function failed(error) {
        if (ctx.signal.aborted) return;
        if (rows.length) toastError(error);
        else {
            none.hidden = false;
            fill(none, errorSentence(error));
        }
        setStatus("");
    }

    const rowAt = (n) => rows.find((row) => row.n >= n) || rows.at(-1);

    // Scrolls until line `n` is at the fraction `part` of the window's height.
    function reveal(n, part) {
        const row = rowAt(n);
        if (!row) return;
        lines.scrollTop = row.node.offsetTop - list.offsetTop - part * lines.clientHeight;
        lastTop = lines.scrollTop;
    }

    function toBottom() {
        lines.scrollTop = lines.scrollHeight;
        lastTop = lines.scrollTop;
    }

    function readOn(side, work) {
        const mine = reading;
        return mine[side] ||= readEdge(mine, side, work);
    }

    async function readEdge(mine, side, work) {
        const signal = AbortSignal.any([turn ? turn.signal : ctx.signal, ctx.signal]);
        try {
            await work(signal, () => mine === reading);
        } catch (error) {
            if (!isAbort(error)) failed(error);
            return;
        } finally {
            mine[side] = null;
        }
        if (mine === reading) scrolled();
    }

    const readBefore = () => before !== null && readOn("before", async (signal, isMine) => {
        const more = await collect({before: true, from: before}, PAGE, signal);
        if (!isMine()) return;
        before = more.isEnd ? null : more.next;
        addBefore(more.lines);
    });

    const readBehind = () => readOn("after", async (signal, isMine) => {
        const more = await collect({from: after}, PAGE, signal);
        if (!isMine()) return;
        after = more.next;
        isAtEnd = more.isEnd;
        addBehind(more.lines);
        drawLive();
        if (follows) toBottom();
    });

    // ---- new lines ----

    const readNewLines = throttle(async () => {
        try {
            const reply = await get(base + "/lines", {...filters(), from: -1, count: 1}, {signal: ctx.signal});
            span = {first: reply.first, last: Math.max(reply.last, span.last)};
            live = reply.live;
        } catch (error) {
            if (!isAbort(error)) throw error;
            return;
        }
        if (follows) seen = span.last;
        if (rank.hidden) readRanks();
        searchNew();
        await filling; // a pending reply may be older than the new lines
        await reading.after;
        if (follows && span.last - after > FAR) await show({isEnd: true});
        else if (follows || (isAtEnd && rows.length < MOST)) {
            isAtEnd = isAtEnd && span.last < after;
            if (!isAtEnd) await readBehind();
        } else isAtEnd = isAtEnd && span.last < after;
        drawLive();
        draw();
    });

    function setFollow(on) {
        if (on || follows) seen = span.last;
        follows = on;
        followButton.setAttribute("aria-pressed", String(on));
        lines.setAttribute("aria-live", on ? "polite" : "off");
        draw();
    }

    function follow(on) {
        if (on && !isAtEnd) show({isEnd: true}).then((did) => did && setFollow(true));
        else {
            if (on) toBottom();
            setFollow(on);
        }
    }

    // ---- scrolling ----

    function scrolled() {
        const top = lines.scrollTop;
        const below = lines.scrollHeight - top - lines.clientHeight;
        if (follows && byHand && top < lastTop - 1 && below > 3) setFollow(false);
        else if (!follows && byHand && isAtEnd && below <= 3) setFollow(true);
        lastTop = top;
        if (top < EDGE) readBefore();
        if (below < EDGE && !isAtEnd) readBehind();
        draw();
    }

    const edges = () => { // the first and last visible row
        const top = lines.scrollTop + list.offsetTop, bottom = top + lines.clientHeight;
        let low = 0, high = rows.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            const {offsetTop, offsetHeight} = rows[middle].node;
            if (offsetTop + offsetHeight <= top + 1) low = middle + 1;
            else high = middle;
        }
        let last = low;
        while (last + 1 < rows.length && rows[last + 1].node.offsetTop < bottom - 1) last++;
        return [low, Math.min(last, rows.length - 1)];
    };

    function setStatus(text) {
        if (status.textContent !== text) status.textContent = text;
    }

    let frame = 0;
    const draw = () => frame ||= requestAnimationFrame(() => {
        frame = 0;
        if (!box.isConnected) return;
        const [low, high] = edges();
        const total = Math.max(1, span.last - span.first + 1);
        anchor = selection && rows[low]?.n <= selection.from && selection.from <= rows[high]?.n
            ? {n: selection.from, part: (rowAt(selection.from).node.offsetTop - list.offsetTop - lines.scrollTop) / lines.clientHeight}
            : rows.length ? {n: rows[low].n, part: 0} : null;
        const first = rows[low]?.n ?? span.first, last = rows[high]?.n ?? span.last;
        const height = track.clientHeight;
        const size = Math.max(18, Math.min(height, height * (last - first + 1) / total));
        const part = isAtEnd && last >= after - 1 ? 1 : total <= last - first + 1 ? 0 : Math.min(1, (first - span.first) / Math.max(1, total - (last - first + 1)));
        thumb.style.height = `${size}px`;
        thumb.style.top = `${part * (height - size)}px`;
        track.setAttribute("aria-valuemin", span.first);
        track.setAttribute("aria-valuemax", Math.max(span.last, span.first));
        track.setAttribute("aria-valuenow", first);
        track.setAttribute("aria-valuetext", `Line ${first} of ${span.last}`);
        const unread = span.last - seen;
        fresh.hidden = follows || unread <= 0;
        fresh.textContent = `${number(unread)} new ${unread === 1 ? "line" : "lines"}`;
        if (rows.length) setStatus(`${number(first)}–${number(last)} of ${number(span.last)} lines · ${time(rows[low].at)}`);
        else if (!box.hasAttribute("aria-busy")) setStatus("");
    });

    lines.addEventListener("scroll", () => scrolled(), {passive: true});
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) lines.addEventListener(kind, () => byHand = true, {passive: true});

    // ---- the track ----

    const lineAtPart = (part) => Math.round(span.first + Math.max(0, Math.min(1, part)) * (span.last - span.first));
    const jumpSoon = debounce((line) => line >= span.last ? follow(true) : (setFollow(false), show({line})), 60);
    function dragged(event) {
        const at = track.getBoundingClientRect();
        const part = (event.clientY - at.top) / at.height;
        const line = lineAtPart(part);
        bubble.hidden = false;
        bubble.style.top = `${Math.max(10, Math.min(at.height - 10, event.clientY - at.top))}px`;
        bubble.textContent = `line ${number(line)}`;
        jumpSoon(line);
    }
    track.addEventListener("pointerdown", (event) => {
        track.setPointerCapture(event.pointerId);
        track.classList.add("held");
        dragged(event);
    });
    track.addEventListener("pointermove", (event) => track.hasPointerCapture(event.pointerId) && dragged(event));
    track.addEventListener("lostpointercapture", () => {
        track.classList.remove("held");
        bubble.hidden = true;
    });
    track.addEventListener("wheel", (event) => {
        byHand = true;
        lines.scrollTop += event.deltaY;
    }, {passive: true});
    track.addEventListener("keydown", (event) => {
        const total = span.last - span.first + 1;
        const by = {ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -Math.ceil(total / 10), PageDown: Math.ceil(total / 10)}[event.key];
        if (!by) return;
        event.preventDefault();
        const line = Math.max(span.first, Math.min(span.last, (rows[edges()[0]]?.n ?? 1) + by));
        setFollow(false);
        show({line});
    });

    // ---- selecting lines ----

    function rangeOf(text) {
        const [, a, b] = String(text || "").match(/^(\d+)(?:-(\d+))?$/) || [];
        return a ? {from: Math.min(a, b || a), to: Math.max(a, b || a)} : null;
    }
    const rangeText = (range) => range ? (range.from === range.to ? String(range.from) : `${range.from}-${range.to}`) : null;

    function select(a, b) {
        selection = a === null ? null : {from: Math.min(a, b), to: Math.max(a, b)};
        setQuery({line: rangeText(selection)});
        rows.forEach(drawMarks);
        if (hits.isDone && hits.all.length) drawFound();
    }
    function addressOf(changes) {
        return location.pathname + queryText({...readQuery(), ...changes});
    }
    list.addEventListener("click", (event) => {
        const spot = event.target.closest("a.no");
        if (!spot || event.ctrlKey || event.metaKey || event.button) return;
        event.preventDefault();
        const n = Number(spot.parentNode.dataset.n);
        if (event.shiftKey && selection) select(selection.from, n);
        else if (selection && selection.from === n && selection.to === n) select(null);
        else select(n, n);
    });

    async function goTo(text) {
        if (!text.trim()) return;
        const place = placeOf(text, rows[edges()[0]]?.at);
        goto.setAttribute("aria-invalid", String(!place));
        if (!place) {
            toast(`'${text}' is not a line number or a time. Enter 1234, 14:30 or 2026-11-15 14:30:05.`, "bad");
            return;
        }
        if (place.isEnd) return follow(true);
        setFollow(false);
        if (await show(place, {selects: true})) lines.focus({preventScroll: true});
    }

    async function copy() {
        try {
            let text;
            if (selection) {
                const reply = await get(base + "/lines", {...filters(), from: selection.from, count: Math.min(selection.to - selection.from + 1, 10000), cut: 0}, {signal: ctx.signal});
                text = reply.lines.filter(([n]) => n <= selection.to).map((line) => plain(line[5])).join("\n");
            } else {
                const [low, high] = edges();
                text = rows.slice(low, high + 1).map((row) => plain(row.isWhole || row.text)).join("\n");
            }
            await toClipboard(text);
            toast(selection ? "Selected lines copied." : "Visible lines copied.");
        } catch (error) {
            toastError(error);
        }
    }

    // ---- filters ----

    function setWrap(on) {
        const [low] = edges();
        const n = rows[low]?.n;
        chosen.wraps = on;
        box.classList.toggle("wraps", on);
        wrap.setAttribute("aria-pressed", String(on));
        setQuery({nowrap: on ? null : 1});
        if (follows) toBottom();
        else if (n) reveal(n, 0);
        draw();
    }

    function drawDownload() {
        download.setAttribute("href", base + "/log.txt" + queryText(filters()));
    }

    function filterAgain() {
        setQuery({level: chosen.level, rank: chosen.rank, stream: chosen.stream});
        drawDownload();
        const top = rows[edges()[0]]?.n;
        seen = Math.max(seen, span.last);
        show(follows || !top ? {isEnd: true} : {line: top}).then(() => chosen.text && search());
    }

    async function readRanks() {
        try {
            await stream(`/api/v1/tasks/${encodeURIComponent(taskId)}/logs/fields`, {}, ({result}) => {
                const all = result?.rankIds || [];
                if (all.length < 2) return;
                rank.hidden = false;
                fill(rank, h("option", {value: ""}, "All ranks"), all.map((one) => h("option", {value: String(one)}, `Rank ${one}`)),
                    chosen.rank && !all.map(String).includes(chosen.rank) && h("option", {value: chosen.rank}, `Rank ${chosen.rank}`));
                rank.value = chosen.rank;
            }, {signal: ctx.signal});
        } catch (error) {
            if (!isAbort(error)) console.warn(error.message);
        }
    }

    // ---- search ----

    const hits = {all: [], numbers: new Set(), far: new Map(), text: "", isDone: true, isRefused: false, next: 0, upTo: 0, turn: null, ended: null}; // far: hits beyond the shown part of a long line; ended: a promise

    function search() {
        hits.turn?.abort();
        Object.assign(hits, {all: [], numbers: new Set(), far: new Map(), text: chosen.text, isDone: !chosen.text, isRefused: false, next: 0, upTo: 0});
        mark = marker(chosen);
        for (const row of rows) {
            drawText(row);
            drawMarks(row);
        }
        setQuery({q: chosen.text, regex: chosen.isRegex ? 1 : null, case: chosen.isExact ? 1 : null});
        drawHits(0);
        if (chosen.text) return searchOn();
    }

    const searchQuery = () => ({...filters(), text: chosen.text, regex: chosen.isRegex || null, case: chosen.isExact || null});

    // Searches new lines, too.  A running search may have passed their position before they arrived.
    const searchNew = throttle(async () => {
        await hits.ended;
        if (chosen.text && hits.isDone && !hits.next && hits.all.length < MOST_HITS && !hits.isRefused && hits.upTo < span.last) await searchOn();
    });

    // Continues the search where it stopped.
    const searchOn = () => hits.ended = searchRest();

    async function searchRest() {
        const mine = hits.turn = new AbortController();
        hits.isDone = false;
        try {
            await stream(base + "/search", {...searchQuery(), from: hits.upTo + 1, limit: MOST_HITS - hits.all.length}, (piece) => {
                if (mine.signal.aborted) return;
                if (piece.error) throw Object.assign(new Error(piece.error.message), {status: 400});
                if (piece.end) {
                    hits.isDone = true;
                    hits.next = piece.next || 0;
                } else {
                    hits.all.push(...piece.hits);
                    for (const hit of piece.hits) hits.numbers.add(hit[0]);
                    for (const hit of piece.hits) if (hit[7] > 0) drawFar(hit);
                    hits.upTo = piece.upTo;
                    if (piece.hits.length) rows.forEach(drawMarks);
                }
                drawHits(hits.upTo / Math.max(1, piece.of || hits.upTo));
            }, {signal: AbortSignal.any([mine.signal, ctx.signal])});
        } catch (error) {
            if (isAbort(error)) return;
            hits.isDone = true;
            hits.isRefused = error.status >= 400 && error.status < 500; // otherwise the next new lines try again
            drawHits();
            found.classList.add("bad");
            found.textContent = errorSentence(error);
        }
    }

    function drawFar(hit) {
        hits.far.set(hit[0], hit);
        const row = rows.find((one) => one.n === hit[0]);
        if (row) drawText(row);
    }

    const searchSoon = debounce(search, 250);
    function searchAgain() {
        chosen.text = query.value;
        searchSoon.now();
    }
    query.addEventListener("input", () => {
        chosen.text = query.value;
        searchSoon();
    });
    query.addEventListener("keydown", (event) => {
        if (event.key === "Enter") {
            if (query.value !== hits.text || (!hits.all.length && hits.isDone)) searchAgain();
            goToHit(event.shiftKey ? -1 : 1);
        } else if (event.key === "Escape") {
            event.preventDefault(); // or the browser empties the box
            lines.focus({preventScroll: true});
        }
    });

    function drawFound(part = 1) {
        const count = hits.all.length;
        const at = selection && hits.numbers.has(selection.from) ? hits.all.findIndex(([n]) => n === selection.from) + 1 : 0;
        const all = `${number(count)}${hits.next ? "+" : ""} ${count === 1 ? "hit" : "hits"}`;
        found.classList.remove("bad");
        found.textContent = !chosen.text ? "" : hits.isDone ? (at ? `${number(at)} of ${all}` : all) : `${number(count)} · ${Math.floor(part * 100)} %`;
    }

    function drawHits(part = 1) {
        const count = hits.all.length;
        drawFound(part);
        previous.disabled = next.disabled = listButton.disabled = !count && hits.isDone;
        hitTitle.textContent = hits.next ? `The first ${number(count)} hits` : `${number(count)} ${count === 1 ? "hit" : "hits"}`;
        if (!chosen.text) showList(false);
        const height = 200, marks = new Set();
        for (const [n] of hits.all) marks.add(Math.floor((n - span.first) / Math.max(1, span.last - span.first) * height));
        fill(ticks, [...marks].map((at) => h("i", {style: {top: `${at / height * 100}%`}})));
        drawList();
    }

    function showList(on) {
        hitBox.hidden = !on;
        listButton.setAttribute("aria-pressed", String(on));
        drawList();
    }

    // All hits have the same height, so only the visible ones are drawn.
    function drawList() {
        if (hitBox.hidden) return;
        const first = Math.max(0, Math.floor(hitRows.scrollTop / HIT_HEIGHT) - 5);
        const last = Math.min(hits.all.length, first + Math.ceil(hitRows.clientHeight / HIT_HEIGHT) + 10);
        fill(hitRows, h("div", {style: {height: `${hits.all.length * HIT_HEIGHT}px`}}), hits.all.slice(first, last).map(([n, , , , , text, , skipped], i) =>
            h("button", {type: "button", class: "log-hit", style: {top: `${(first + i) * HIT_HEIGHT}px`}, "aria-current": selection?.from === n ? "true" : null, onclick: () => goHit(n)},
                h("span", n), h("b", hitNodes(text, mark, {before: 16, most: 300, isCut: skipped > 0})))));
    }
    hitRows.addEventListener("scroll", drawList, {passive: true});

    async function goHit(n) {
        setFollow(false);
        byHand = false;
        if (rows.length && n >= rows[0].n && n <= rows.at(-1).n) {
            select(n, n);
            reveal(n, 0.35);
            box.dataset.at = n;
            scrolled();
        } else await show({line: n}, {selects: true});
        drawList();
    }

    // Goes to the previous or next hit.  Where the list does not reach, the master searches.
    async function goToHit(way) {
        if (!chosen.text) return query.focus();
        const [low, high] = edges();
        const here = selection ? selection.from : way > 0 ? (rows[low]?.n ?? 1) - 1 : (rows[high]?.n ?? 0) + 1;
        const known = way > 0 ? hits.all.find(([n]) => n > here) : hits.all.findLast(([n]) => n < here);
        const isCovered = hits.isDone && !hits.next;
        if (known && (isCovered || way > 0 || here <= hits.all.at(-1)[0])) return goHit(known[0]);
        if (isCovered) {
            if (!hits.all.length) return;
            toast(way > 0 ? "Search continued from the first line." : "Search continued from the last line.");
            return goHit(hits.all.at(way > 0 ? 0 : -1)[0]);
        }
        const asked = JSON.stringify(searchQuery());
        let n = 0;
        try {
            await stream(base + "/search", {...searchQuery(), limit: 1, ...(way > 0 ? {from: here + 1} : {from: here, before: true})},
                (piece) => n ||= piece.hits?.[0]?.[0] || 0, {signal: ctx.signal});
        } catch (error) {
            if (!isAbort(error)) toastError(error);
            return;
        }
        if (!n) await hits.ended; // hits on the other side may not be found yet
        if (JSON.stringify(searchQuery()) !== asked) return;
        if (n) return goHit(n);
        const other = way > 0 ? hits.all[0] : !hits.next && hits.all.at(-1);
        if (other) return goHit(other[0]);
        toast("No more hits.");
    }

    // ---- keys ----

    function keys(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.target.closest("input, textarea, select, dialog, .menu")) return;
        const act = {
            n: () => goToHit(1), N: () => goToHit(-1), f: () => follow(!follows), w: () => setWrap(!chosen.wraps),
            Home: () => (setFollow(false), show({line: 1})), End: () => follow(true), Escape: () => selection && select(null),
        }[event.key];
        if (!act) return;
        event.preventDefault();
        act();
    }
    addEventListener("keydown", keys);
    ctx.keys?.([["n N", "Next and previous hit"], ["f", "Follow new lines"], ["w", "Wrap long lines"], ["Home End", "First and last line"], ["Escape", "Clear the selection"]]);

    // ---- start ----

    const fit = () => {
        box.style.setProperty("--log-top", `${Math.round(box.getBoundingClientRect().top + scrollY + 20)}px`);
        if (follows) toBottom();
        else if (anchor) reveal(anchor.n, anchor.part);
        draw();
        drawList();
    };
    const watch = new ResizeObserver(fit);
    watch.observe(document.body);
    watch.observe(lines);
    ctx.onLeave(() => {
        removeEventListener("keydown", keys);
        watch.disconnect();
        turn?.abort();
        hits.turn?.abort();
    });
    fit();
    drawDownload();
    drawHits();
    const place = from.time ? placeOf(from.time) : null;
    if (selection) await show({line: selection.from}).then(() => reveal(selection.from, 0.35));
    else if (place && !place.isEnd) await show(place, {selects: true});
    else if (await show({isEnd: true})) setFollow(true);
    if (!isFed) ctx.live({kinds: "logs", task: taskId}, (changes) => (changes.reset || changes.logs?.includes(taskId)) && readNewLines());
    readRanks();
    if (chosen.text) search();
    return {node: box, show, readNewLines};
}
