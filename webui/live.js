// SPDX-License-Identifier: Apache-2.0
// live.js - one stream of changes for the page that is shown.
//
// The master says what changed, not how: the page reads again what it shows.  Whoever
// reconnects says where it left off, and hears what changed meanwhile; after a restart of the
// master, or when too much has happened, the page is told to read everything again
// ({reset: true}).
//
// A page reads first and listens then; what changes in between is not lost: its stream begins where the one before
// had come to, which is earlier; the first page's where the master stood when it was met (session.js).
//
// A browser keeps only six connections to one address, over all tabs: a tab that nobody sees
// gives its stream up, and takes it up again where it was once it is looked at.

import {get, queryText} from "./api.js";

const SILENCE_MS = 40000; // the master says something every 15 s
const HIDDEN_MS = 5000; // a glance at another tab costs nothing
const RETRY_MS = [200, 500, 1000, 2000]; // then every two seconds: it is one call

let latest = ""; // the id of the last event that any page has heard

export function listenFrom(id) {
    latest ||= id;
}

// `filters` as in GET /api/v1/det/changes; `onStatus(isConnected)`.  Returns a function that ends it.
export function follow(filters, onChanges, onStatus) {
    const query = {};
    for (const [name, value] of Object.entries(filters)) query[name] = Array.isArray(value) ? value.join(",") : value;
    let source = null;
    let last = latest; // the id of the last event
    let failures = 0;
    let timer = 0; // the next try
    let watchdog = 0;
    let curtain = 0;
    let isOver = false;

    const alive = (event) => {
        if (event.lastEventId) latest = last = event.lastEventId;
        clearTimeout(watchdog);
        watchdog = setTimeout(again, SILENCE_MS);
    };
    function close() {
        clearTimeout(timer);
        clearTimeout(watchdog);
        source?.close();
        source = null;
    }
    function again() {
        if (isOver) return;
        close();
        onStatus(false);
        timer = setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
    }
    // A browser gives up for good when it is refused.  If that was the end of the session, this call is
    // refused, too, and leads to the sign-in page; else the master is away or too busy.
    async function broken() {
        if (source?.readyState !== EventSource.CLOSED) return onStatus(false);
        again();
        await get("/api/v1/me").catch(() => {});
    }
    function open() {
        close();
        source = new EventSource("/api/v1/det/changes" + queryText({...query, since: last}));
        source.addEventListener("hello", (event) => {
            failures = 0;
            alive(event);
            onStatus(true);
        });
        source.addEventListener("changes", (event) => {
            alive(event);
            onChanges(JSON.parse(event.data));
        });
        source.addEventListener("reset", (event) => {
            alive(event);
            onChanges({reset: true});
        });
        source.addEventListener("alive", alive);
        source.onerror = broken;
    }
    function seen() {
        clearTimeout(curtain);
        if (document.hidden) curtain = setTimeout(close, HIDDEN_MS);
        else if (!source) open();
    }
    document.addEventListener("visibilitychange", seen);
    open();
    return () => {
        isOver = true;
        document.removeEventListener("visibilitychange", seen);
        clearTimeout(curtain);
        close();
    };
}
