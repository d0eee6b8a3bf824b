// SPDX-License-Identifier: Apache-2.0
// style.js - sheets that only some pages need, loaded with them.

const loaded = new Map();

// style(new URL("pages/experiment.css", import.meta.url)): resolves when it counts.
export function style(address) {
    const href = String(address);
    if (!loaded.has(href)) {
        loaded.set(href, new Promise((done) => {
            const sheet = document.createElement("link");
            sheet.rel = "stylesheet";
            sheet.href = href;
            sheet.onload = sheet.onerror = () => done();
            document.head.append(sheet);
        }));
    }
    return loaded.get(href);
}
