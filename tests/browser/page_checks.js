// SPDX-License-Identifier: Apache-2.0
// page_checks.js - checks contrast, names and overflow of a page.  Runs inside the page; each function returns a list of
// problems, empty if there are none.
(() => {
    const isVisible = (node) => node.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true}) &&
        node.getClientRects().length > 0;
    const describe = (node) => {
        const text = (node.textContent || node.value || "").trim().replace(/\s+/g, " ").slice(0, 40);
        return `<${node.tagName.toLowerCase()}${node.className && node.className.baseVal === undefined ? "." + String(node.className).replace(/ /g, ".") : ""}> ${JSON.stringify(text)}`;
    };

    // ---- contrast

    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    // Any CSS colour as [r, g, b, alpha].
    const rgba = (text) => {
        const plain = text.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/);
        if (plain) return [plain[1], plain[2], plain[3], plain[4] ?? 1].map(Number);
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
    const luminance = (c) => {
        const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => {
        const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (light + 0.05) / (dark + 0.05);
    };
    const backdrop = (node) => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) {
            layers.push(rgba(getComputedStyle(at).backgroundColor));
            if (layers.at(-1)[3] === 1) break;
        }
        let below = rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") &&
            matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)");
        for (const layer of layers.reverse()) below = over(layer, below);
        return below;
    };
    const opacity = (node) => {
        let product = 1;
        for (let at = node; at; at = at.parentElement) product *= Number(getComputedStyle(at).opacity);
        return product;
    };
    const checkText = (node, said) => {
        const style = getComputedStyle(node);
        const size = parseFloat(style.fontSize);
        const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        const back = backdrop(node);
        const colour = rgba(node instanceof SVGElement ? style.fill : style.color);
        colour[3] *= opacity(node);
        const got = ratio(over(colour, back), back);
        if (got < needed - 0.005) said.add(`contrast ${got.toFixed(2)} < ${needed}: ${describe(node)} ${style.color} on ${back.slice(0, 3).map(Math.round)}`);
    };
    function contrast() {
        const said = new Set();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const node = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !isVisible(node)) continue;
            if (node.closest("[disabled], [aria-disabled=true], noscript, option, .uplot canvas")) continue;
            checkText(node, said);
        }
        for (const node of document.querySelectorAll("input, select, textarea")) {
            if (isVisible(node) && !node.disabled && !["checkbox", "radio", "range"].includes(node.type)) checkText(node, said);
        }
        return [...said];
    }

    // ---- names, landmarks, structure

    const nameOf = (node) => {
        const by = (node.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean)
            .map((id) => document.getElementById(id)?.textContent || "").join(" ");
        const labels = [...(node.labels || [])].map((label) => label.textContent).join(" ");
        const inner = [...node.querySelectorAll("[alt], [aria-label], title")].map((n) => n.getAttribute("alt") || n.getAttribute("aria-label") || n.textContent).join(" ");
        const own = ["INPUT", "SELECT", "TEXTAREA"].includes(node.tagName) ? "" : node.textContent;
        const value = ["submit", "button", "reset"].includes(node.type) && node.tagName === "INPUT" ? node.value : "";
        return [node.getAttribute("aria-label"), by, labels, own, inner, value, node.title].find((text) => text && text.trim()) || "";
    };
    function names() {
        const said = [];
        const acting = "button, input:not([type=hidden]), select, textarea, a[href], summary, [role=button], [role=tab], [role=menuitem], [role=switch], dialog";
        for (const node of document.querySelectorAll(acting)) {
            if ((node.tagName !== "DIALOG" || node.open) && isVisible(node) && !nameOf(node)) said.push(`has no name: ${describe(node)} ${node.outerHTML.slice(0, 120)}`);
        }
        for (const node of document.querySelectorAll("img:not([alt]), svg:not([aria-hidden=true]):not([aria-label]):not([role=presentation])")) {
            if (isVisible(node) && !node.querySelector("title") && !node.closest("[aria-hidden=true]")) said.push(`an image without a text: ${node.outerHTML.slice(0, 120)}`);
        }
        const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
        for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at))) said.push(`id '${id}' occurs twice`);
        for (const node of document.querySelectorAll("[aria-labelledby], [aria-controls], [aria-describedby], label[for]")) {
            for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
                for (const id of (node.getAttribute(name) || "").split(/\s+/).filter(Boolean)) {
                    if (!document.getElementById(id)) said.push(`${name} refers to '${id}', which does not exist: ${describe(node)}`);
                }
            }
        }
        if (document.querySelectorAll("main").length !== 1) said.push("the page must have one <main>");
        if ([...document.querySelectorAll("h1")].filter(isVisible).length !== 1) said.push("the page must have one visible <h1>");
        if (!document.documentElement.lang) said.push("the page has no language");
        if (!document.title) said.push("the page has no title");
        for (const table of document.querySelectorAll("table")) {
            if (isVisible(table) && !table.querySelector("th")) said.push(`a table without headers: ${describe(table)}`);
        }
        for (const node of document.querySelectorAll("[onclick], [tabindex]")) {
            if (Number(node.getAttribute("tabindex")) > 0) said.push(`a tabindex above 0: ${describe(node)}`);
        }
        return said;
    }

    // ---- overflow: the page must not scroll sideways

    function overflow() {
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        const wide = [...document.body.querySelectorAll("*")].filter((node) => isVisible(node) && node.getBoundingClientRect().right > width + 1 &&
            ![...function* () { for (let at = node.parentElement; at; at = at.parentElement) yield at; }()]
                .some((at) => ["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(at).overflowX)));
        return [`wider than the screen (${document.documentElement.scrollWidth} > ${width}): ${wide.slice(0, 5).map(describe).join("; ")}`];
    }

    // Whether the focus is visible on the focused element.
    function showsFocus() {
        const node = document.activeElement;
        const style = getComputedStyle(node);
        return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
    }

    window.pageChecks = {contrast, names, overflow, showsFocus, describe};
})();
