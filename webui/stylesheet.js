// SPDX-License-Identifier: Apache-2.0
// stylesheet.js - loads the style sheets that only some pages need.

const loaded = new Map();

// loadStylesheet(new URL("pages/experiment.css", import.meta.url)): resolves when the sheet is applied.
export function loadStylesheet(address) {
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
