// SPDX-License-Identifier: Apache-2.0
// series.js - reads metric series from the master, at the resolution of the screen.
//
//   const feed = seriesFeed({trials: [1, 2], points: 600, onError});
//   feed.watch(node, "training.loss", (chart) => …)   reads while the node is visible
//   feed.refresh()                                    new data has arrived
//   feed.set({x: "time"})                             other trials, axis or width: reads everything again
//
// Only visible charts are read (IntersectionObserver), those of one moment in one call.  A trial with 12,000 metrics
// therefore costs only what is on the screen.  Refreshes during a call are merged into one; a call whose reply is no
// longer needed is aborted.
//
// The reply is little-endian: "DETS", version, length of a JSON header, then float64 numbers that the header points into.
// Nothing is copied: lines are views of the reply's buffer.

import {binary, isAbort} from "./api.js";

export const SERIES = "/api/v1/det/series";
const AT_ONCE = 24; // charts per call: the first are drawn while the others are read

// ArrayBuffer -> {charts: [{group, name, key, isExact, x, lines: [{trial, run, archived, y, notNumbers, …}]}], head, more}
export function decodeSeries(buffer) {
    const view = new DataView(buffer);
    if (buffer.byteLength < 12 || view.getUint32(0, true) !== 0x53544544 || view.getUint32(4, true) !== 1) throw new Error("the master's answer is not a series");
    const length = view.getUint32(8, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, length)));
    const at = 12 + length;
    const numbers = at % 8 ? new Float64Array(buffer.slice(at)) : new Float64Array(buffer, at); // our master always aligns the numbers
    for (const chart of header.charts) {
        chart.key = `${chart.group}.${chart.name}`;
        const {at: from, count} = chart.x;
        chart.x = numbers.subarray(from, from + count);
        for (const line of chart.lines) line.y = numbers.subarray(line.at, line.at + (line.count ?? count));
    }
    return header;
}

// With many lines each gets fewer points, still two per interval, so a chart with a hundred lines is drawn as fast as one
// with ten.  Zooming in shows more.
const NUMBERS = 40000; // per chart
const LEAST = 100;
const pointsPerLine = ({points, trials}) => Math.min(points, Math.max(LEAST, NUMBERS / 2 / trials.length));

// Reads some metrics in one call: {trials, metrics, points, x, from, to, archived}.
export async function fetchSeries({trials, metrics, points = 600, x = "steps", from, to, archived}, options) {
    return decodeSeries(await binary(SERIES, {
        trials: trials.join(","), metrics, points: Math.max(2, Math.round(points)), x, from, to, archived: archived ? "true" : undefined,
    }, options));
}

export function seriesFeed(options) {
    let settings = {points: 600, x: "steps", archived: false, ...options};
    const places = new Map(); // node -> {metric, draw, isSeen, isStale, range}
    let call = null; // the AbortController of the current call
    let isPlanned = false;
    let isOver = false;

    const observer = new IntersectionObserver((entries) => {
        for (const entry of entries) {
            const place = places.get(entry.target);
            if (place) place.isSeen = entry.isIntersecting;
        }
        plan();
    }, {rootMargin: "200px 0px"});

    // Visible places with stale data; only places with the same range, since they share a call.
    function wanted() {
        const stale = [...places.values()].filter((place) => place.isSeen && place.isStale);
        if (!stale.length) return [];
        const range = stale[0].range;
        const same = (a, b) => a === b || (a && b && a[0] === b[0] && a[1] === b[1]);
        return stale.filter((place) => same(place.range, range)).slice(0, AT_ONCE);
    }

    function plan() {
        if (isPlanned || call || isOver) return;
        isPlanned = true;
        queueMicrotask(() => {
            isPlanned = false;
            void readStale();
        });
    }

    async function readStale() {
        const list = wanted();
        if (!list.length || isOver || !settings.trials.length) return;
        const mine = call = new AbortController();
        for (const place of list) place.isStale = false;
        try {
            const [from, to] = list[0].range || settings.range || [];
            const answer = await fetchSeries({...settings, points: pointsPerLine(settings), from, to, metrics: [...new Set(list.map((place) => place.metric))]}, {signal: mine.signal});
            if (mine.signal.aborted) return;
            const byName = new Map(answer.charts.map((chart) => [chart.key, chart]));
            for (const place of list) {
                const empty = {key: place.metric, isExact: true, x: new Float64Array(0), lines: []};
                if (places.get(place.node) === place && !place.isStale) place.draw(byName.get(place.metric) || empty, answer.head || {});
            }
        } catch (error) {
            if (isAbort(error)) return;
            for (const place of list) place.onError?.(error);
            settings.onError?.(error);
        } finally {
            if (call === mine) {
                call = null;
                plan();
            }
        }
    }

    function stop() {
        call?.abort();
        call = null;
    }

    function allStale() {
        for (const place of places.values()) place.isStale = true;
    }

    return {
        watch(node, metric, draw, onError) {
            places.set(node, {node, metric, draw, onError, isSeen: false, isStale: true, range: null});
            observer.observe(node);
        },
        unwatch(node) {
            observer.unobserve(node);
            places.delete(node);
        },
        // Zoom: this place shows x from..to at full resolution; null shows everything.
        range(node, range) {
            const place = places.get(node);
            if (!place) return;
            place.range = range;
            place.isStale = true;
            plan();
        },
        // New data: reads the visible places again, the others when they become visible.
        refresh() {
            allStale();
            plan();
        },
        set(changes) {
            settings = {...settings, ...changes};
            stop();
            allStale();
            plan();
        },
        settings: () => settings,
        close() {
            isOver = true;
            stop();
            observer.disconnect();
            places.clear();
        },
    };
}
