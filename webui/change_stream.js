// SPDX-License-Identifier: Apache-2.0
// change_stream.js - the stream of changes for the current page.
//
// The master says what changed, not how; the page reads the data again.  A client that reconnects sends the id of its last
// event and receives the changes since then.  After a restart of the master, or after too many changes, the page is
// told to read everything again ({reset: true}).
//
// A page reads first and listens afterwards.  Changes in between are not lost: its stream starts at the last event of the
// previous page's stream, which is earlier.  The stream of the first page starts at the event id that the master sent with
// the session (session.js).
//
// A browser opens at most six connections to one address, over all tabs.  A hidden tab therefore closes its stream and
// reopens it at the same event when it becomes visible.

import {get, queryText} from "./api.js";

const SILENCE_MS = 40000; // the master sends something every 15 s
const HIDDEN_MS = 5000; // a short look at another tab keeps the stream
const RETRY_MS = [200, 500, 1000, 2000]; // then every two seconds

let latest = ""; // the id of the last event that any page received

export function startChangesAt(id) {
    latest ||= id;
}

// `filters` as in GET /api/v1/det/changes; `onStatus(isConnected)`.  Returns a function that ends the stream.
export function followChanges(filters, onChanges, onStatus) {
    const query = {};
    for (const [name, value] of Object.entries(filters)) query[name] = Array.isArray(value) ? value.join(",") : value;
    let source = null;
    let last = latest; // the id of the last event
    let failures = 0;
    let timer = 0; // the next attempt
    let watchdog = 0;
    let hideTimer = 0;
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
    // After an error reply the browser does not reconnect by itself.  If the session has ended, the call to /me is refused,
    // too, and leads to the sign-in page; otherwise the master is down or too busy.
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
    function visibilityChanged() {
        clearTimeout(hideTimer);
        if (document.hidden) hideTimer = setTimeout(close, HIDDEN_MS);
        else if (!source) open();
    }
    document.addEventListener("visibilitychange", visibilityChanged);
    open();
    return () => {
        isOver = true;
        document.removeEventListener("visibilitychange", visibilityChanged);
        clearTimeout(hideTimer);
        close();
    };
}
