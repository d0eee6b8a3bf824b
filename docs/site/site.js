// SPDX-License-Identifier: Apache-2.0
// site.js - the search of the documentation, in the browser: all words must occur; headings count most.
// search.js has the rows: [page, its title, anchor, heading, text].
"use strict";
(() => {
    const MOST = 30, BEFORE = 60, AFTER = 140;
    const input = document.getElementById("words");
    const list = document.getElementById("found");
    const article = document.querySelector("article");
    const small = window.DOCS.map(([, title, , heading, text]) => [title, heading, text].map((each) => each.toLowerCase()));

    const weigh = (words, [title, heading, text]) => {
        let sum = 0;
        for (const word of words) {
            const weight = (heading.includes(word) ? 8 : 0) + (title.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
            if (!weight)
                return 0;
            sum += weight;
        }
        return sum;
    };

    const excerpt = (words, row, text) => {
        const at = Math.max(0, ...words.map((word) => text.indexOf(word)));
        const from = Math.max(0, at - BEFORE);
        return (from ? "… " : "") + row[4].slice(from, at + AFTER);
    };

    // Text with the words marked; nothing is ever parsed as markup.
    const marked = (words, text) => {
        const out = document.createDocumentFragment();
        const lower = text.toLowerCase();
        let at = 0;
        while (at < text.length) {
            const next = words.map((word) => [lower.indexOf(word, at), word]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0])[0];
            if (!next)
                break;
            const mark = document.createElement("mark");
            mark.textContent = text.slice(next[0], next[0] + next[1].length);
            out.append(text.slice(at, next[0]), mark);
            at = next[0] + next[1].length;
        }
        out.append(text.slice(at));
        return out;
    };

    const item = (words, index) => {
        const row = window.DOCS[index];
        const link = document.createElement("a");
        const where = document.createElement("small");
        const one = document.createElement("li");
        link.href = `${row[0]}.html#${row[2]}`;
        link.append(marked(words, row[1] === row[3] ? row[1] : `${row[1]}: ${row[3]}`));
        where.append(marked(words, excerpt(words, row, small[index][2])));
        one.append(link, where);
        return one;
    };

    const search = () => {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const found = words.length ? small.map((row, index) => [weigh(words, row), index]).filter(([weight]) => weight) : [];
        found.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
        list.replaceChildren(...found.slice(0, MOST).map(([, index]) => item(words, index)));
        if (words.length && found.length !== Math.min(found.length, MOST) || words.length && !found.length) {
            const rest = document.createElement("li");
            rest.textContent = found.length ? `${MOST} of ${found.length} places shown; add a word to narrow it` : "Nothing has all these words.";
            list.append(rest);
        }
        document.getElementById("results").hidden = !words.length;
        article.hidden = words.length > 0;
    };

    input.addEventListener("input", search);
    document.getElementById("search").addEventListener("submit", (event) => {
        event.preventDefault();
        list.querySelector("a")?.click();
    });
    list.addEventListener("click", (event) => {
        if (event.target.closest("a")) {
            input.value = "";
            search();
        }
    });
    document.addEventListener("keydown", (event) => {
        if (event.key === "/" && document.activeElement !== input) {
            event.preventDefault();
            input.focus();
        }
    });
})();
