// SPDX-License-Identifier: Apache-2.0
// trial_media.js - the media of a trial, by name, with a slider over their steps.
//
// They come from report_media() and from TensorBoard's event files; names of both are shown together.  Programs that
// nobody checked made them: markup is never put into this page.  SVG is shown in <img> and HTML in <iframe sandbox>, where
// no script runs, and the master sends both with a sandbox of its own.

import {get, queryText, text} from "../api.js";
import {fill, h, svg} from "../dom.js";
import {bytes, number, plural, time, value} from "../format.js";
import {readQuery, setQuery} from "../router.js";
import {loadStylesheet} from "../stylesheet.js";
import {empty, errorBox, icon} from "../widgets.js";
import {throttleInBackground} from "./trial.js";

const READ_MS = 2000;
const ROWS_MOST = 500;
const TEXT_MOST = 200000;
const WIDTH = 480; // of a histogram, in its own units
const HEIGHT = 160;

// ---- one item ----

const image = (item, name) => h("a", {href: item.url, target: "_blank", rel: "noopener", title: "Open in its own size"}, h("img", {class: "media-image", src: item.url, alt: `${name} at step ${item.steps}`, loading: "lazy"}));
const audio = (item, name) => h("audio", {controls: true, preload: "none", src: item.url, "aria-label": `${name} at step ${item.steps}`});
const html = (item, name) => h("iframe", {class: "media-page", sandbox: true, src: item.url, title: `${name} at step ${item.steps}`, loading: "lazy"});

async function words(item, name, options) {
    const all = await text(item.url, {}, options);
    return [h("pre", {class: "media-text", tabindex: 0, "aria-label": name}, all.slice(0, TEXT_MOST)), all.length > TEXT_MOST && h("p", {class: "dim"}, `The first ${number(TEXT_MOST)} characters are shown.`)];
}

const cell = (one) => one === null || one === undefined ? "" : typeof one === "number" ? value(one) : String(one);

async function table(item, name, options) {
    const {columns, rows} = JSON.parse(await text(item.url, {}, options));
    return [h("div", {class: "media-table table-place", tabindex: 0, "aria-label": name}, h("table", {class: "data"}, h("caption", {class: "hidden"}, name),
        h("thead", h("tr", columns.map((column, i) => h("th", {scope: "col", class: typeof rows[0]?.[i] === "number" && "num"}, column)))),
        h("tbody", rows.slice(0, ROWS_MOST).map((row) => h("tr", row.map((one) => h("td", {class: typeof one === "number" && "num"}, cell(one)))))))),
    rows.length > ROWS_MOST && h("p", {class: "dim"}, `The first ${number(ROWS_MOST)} of ${number(rows.length)} rows are shown.`)];
}

// The area of a bar is its count: bins may have different widths.
async function histogram(item, name, options) {
    const {edges, counts} = JSON.parse(await text(item.url, {}, options));
    const [low, high] = [edges[0], edges.at(-1)];
    const x = (edge) => (edge - low) / (high - low || 1) * WIDTH;
    const isEven = edges.every((edge, i) => i < 2 || Math.abs(edge - edges[i - 1] - (edges[1] - low)) <= 1e-6 * Math.abs(high - low));
    const tall = counts.map((count, i) => isEven ? count : count / (edges[i + 1] - edges[i] || 1));
    const top = Math.max(...tall) || 1;
    const total = counts.reduce((sum, count) => sum + count, 0);
    return h("figure", {class: "media-histogram"},
        svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${number(total)} values from ${number(low)} to ${number(high)}`}, counts.map((count, i) => {
            const height = tall[i] / top * (HEIGHT - 4);
            return svg("rect", {x: x(edges[i]), y: HEIGHT - height, width: Math.max(0.5, x(edges[i + 1]) - x(edges[i]) - 1), height}, svg("title", `${value(edges[i])} … ${value(edges[i + 1])}: ${value(count)}`));
        })),
        h("figcaption", {class: "dim"}, h("span", {class: "num"}, number(low)), h("span", plural(Math.round(total), "value")), h("span", {class: "num"}, number(high))));
}

const VIEWS = {image, audio, html, text: words, table, histogram};

// ---- one name ----

function card(name, ctx) {
    const slider = h("input", {type: "range", min: 0, value: 0, "aria-label": `Step of ${name}`});
    const stepText = h("span", {class: "num media-step"});
    const about = h("span", {class: "dim"});
    const save = h("a", {class: "button", "aria-label": `Download ${name}`}, icon("download"));
    const body = h("div", {class: "media-body"});
    const node = h("section", {class: "card media-card", "aria-label": name}, h("h2", {title: name}, name), body, h("div", {class: "bar media-bar"}, slider, stepText, about, save));
    let items = [];
    let shown = "";
    let isVisible = false;
    let isFollowing = true; // the last step

    async function draw() {
        const item = items[slider.valueAsNumber];
        if (!item || !isVisible) return;
        fill(stepText, `step ${number(item.steps)}`);
        slider.setAttribute("aria-valuetext", `step ${item.steps}`);
        fill(about, `${number(slider.valueAsNumber + 1)} of ${number(items.length)}, ${bytes(item.bytes)}`, item.isArchived && h("span", {class: "chip", title: "A later run started before this step"}, "archived"));
        about.title = time(item.time);
        save.href = item.url;
        save.download = `${name.replaceAll(/[^\w.-]+/g, "-")}-${item.steps}.${item.type}`;
        if (shown === item.url) return;
        shown = item.url;
        try {
            const made = await VIEWS[item.kind]?.(item, name, {signal: ctx.signal});
            if (shown === item.url) fill(body, made || h("p", {class: "dim"}, `The type ${item.type} cannot be shown; download it.`));
        } catch (error) {
            if (error.name !== "AbortError") fill(body, errorBox(error));
        }
    }
    slider.addEventListener("input", () => {
        isFollowing = slider.valueAsNumber === items.length - 1;
        void draw();
    });
    const watcher = new IntersectionObserver((entries) => {
        isVisible = entries.some((entry) => entry.isIntersecting);
        void draw();
    }, {rootMargin: "300px"});
    watcher.observe(node);
    ctx.onLeave(() => watcher.disconnect());
    return {node, update(now) {
        const step = items[slider.valueAsNumber]?.steps;
        items = now;
        slider.max = Math.max(0, items.length - 1);
        slider.hidden = items.length < 2;
        const same = items.findIndex((item) => item.steps === step);
        slider.value = isFollowing || same < 0 ? items.length - 1 : same;
        void draw();
    }};
}

// ---- the tab ----

// [[name, items]] of both sources, by name and steps.  `id` of a reported item changes when it is replaced.
export async function readMedia(trial, options) {
    const [reported, written] = await Promise.all([get(`/api/v1/det/trials/${trial}/media`, {}, options), get(`/api/v1/det/trials/${trial}/events`, {}, options)]);
    const found = new Map();
    const add = (list, urlOf) => {
        for (const {name, items} of list) found.set(name, [...found.get(name) || [], ...items.map((item) => ({...item, url: urlOf(item)}))]);
    };
    add(written.media, ({file, offset, value: place}) => `/api/v1/det/trials/${trial}/events/item${queryText({file, offset, value: place})}`);
    add(reported.media, ({id, time: at}) => `/api/v1/det/trials/${trial}/media/${id}#${at}`);
    return {names: [...found].sort(([a], [b]) => a < b ? -1 : 1).map(([name, items]) => [name, items.sort((a, b) => a.steps - b.steps)]), reported, written};
}

export async function mediaTab(place, state, ctx) {
    await loadStylesheet(new URL("trial_media.css", import.meta.url));
    const cards = new Map();
    const info = h("p", {class: "dim"});
    const grid = h("div", {class: "media-grid"});
    const search = h("input", {type: "search", placeholder: "Filter by name", "aria-label": "Filter by name", value: readQuery().name || ""});
    const archived = h("input", {type: "checkbox"});
    const controls = h("div", {class: "bar"}, search, h("label", {class: "bar"}, archived, "Show archived steps"));
    let all = {names: [], reported: {bytes: 0, bytesMost: 0}, written: {}};
    function draw() {
        const wanted = search.value.toLowerCase();
        const shown = all.names.map(([name, items]) => [name, items.filter((item) => archived.checked || !item.isArchived)])
            .filter(([name, items]) => items.length && name.toLowerCase().includes(wanted));
        for (const [name, items] of shown) {
            if (!cards.has(name)) cards.set(name, card(name, ctx));
            cards.get(name).update(items);
        }
        const nodes = shown.map(([name]) => cards.get(name).node);
        if (nodes.length !== grid.childNodes.length || nodes.some((node, i) => node !== grid.childNodes[i])) fill(grid, nodes.length ? nodes : empty(all.names.length ? "No name matches." : "This trial has reported no media."));
        fill(info, `${plural(all.names.length, "name")}; ${bytes(all.reported.bytes)} of at most ${bytes(all.reported.bytesMost)} reported.`, all.written.note && ` ${all.written.note}`);
    }
    const read = async () => {
        all = await readMedia(state.trial.id, {signal: ctx.signal});
        archived.closest("label").hidden = !all.names.some(([, items]) => items.some((item) => item.isArchived));
        draw();
    };
    search.addEventListener("input", () => {
        setQuery({name: search.value || null});
        draw();
    });
    archived.addEventListener("change", draw);
    fill(place, controls, info, grid);
    await read();
    const again = throttleInBackground(read, READ_MS);
    return {media: again, trial: again};
}
