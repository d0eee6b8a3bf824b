// SPDX-License-Identifier: Apache-2.0
// live.js - one stream of changes for the page that is shown.
//
// The master says what changed, not how: the page reads again what it shows.  The browser
// reconnects by itself and says where it left off; after a restart of the master, or when too
// much has happened meanwhile, the page is told to read everything again ({reset: true}).

import {queryText} from "./api.js";

const SILENCE_MS = 40000; // the master says something every 15 s

// `filters` as in GET /api/v1/det/changes; `onStatus(isConnected)`.  Returns a function that ends it.
export function follow(filters, onChanges, onStatus) {
    const query = {};
    for (const [name, value] of Object.entries(filters)) query[name] = Array.isArray(value) ? value.join(",") : value;
    const address = "/api/v1/det/changes" + queryText(query);
    let source = null;
    let master = "";
    let retry = 0;
    let timer = 0;
    let watchdog = 0;
    let isOver = false;

    const alive = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(again, SILENCE_MS);
    };
    const hello = (event) => {
        const data = JSON.parse(event.data);
        retry = 0;
        alive();
        onStatus(true);
        if (master && master !== data.master) onChanges({reset: true});
        master = data.master;
    };
    // A browser gives up for good after some answers (503 among them), so that we look ourselves.
    function again() {
        if (isOver) return;
        source?.close();
        onStatus(false);
        clearTimeout(timer);
        timer = setTimeout(open, Math.min(500 * 2 ** retry++, 5000));
    }
    function open() {
        source = new EventSource(address);
        source.addEventListener("hello", hello);
        source.addEventListener("changes", (event) => {
            alive();
            onChanges(JSON.parse(event.data));
        });
        source.addEventListener("reset", () => {
            alive();
            onChanges({reset: true});
        });
        source.addEventListener("alive", alive);
        source.onerror = () => {
            if (source.readyState === EventSource.CLOSED) again();
            else onStatus(false);
        };
    }
    open();
    return () => {
        isOver = true;
        clearTimeout(timer);
        clearTimeout(watchdog);
        source.close();
    };
}
