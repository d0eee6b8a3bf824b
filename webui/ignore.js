// SPDX-License-Identifier: Apache-2.0
// ignore.js - .detignore in the browser: which files of a folder are not sent.
//
// The rules are those of .gitignore, and the same as in src/cli/create/ignore.c: one pattern per line; '#' starts a
// comment; '!' includes again what an earlier line excluded.  A '/' at the end matches folders only; a '/' elsewhere
// anchors the pattern at the top folder.  '*', '?' and '[a-z]' do not match a '/', '**' does.  The last matching line
// decides.  tests/browser/test_new.py compares both.

// ---- patterns, as in src/data/glob.c ----

// Whether `c` is in the set at `at` ("[a-z]"), and where the set ends; null: it is not a set.
function inSet(glob, at, c) {
    let p = at + 1;
    const isNegated = glob[p] === "!" || glob[p] === "^";
    let isIn = false;
    const next = () => glob[p] === "\\" && p + 1 < glob.length ? glob[(p += 2) - 1] : glob[p++];
    if (isNegated) p++;
    do { // a ']' in the first place is a member
        if (p >= glob.length) return null;
        const low = next();
        let high = low;
        if (glob[p] === "-" && p + 1 < glob.length && glob[p + 1] !== "]") {
            p++;
            high = next();
        }
        isIn ||= c >= low && c <= high;
    } while (glob[p] !== "]");
    return {end: p + 1, isIn: isIn !== isNegated && c !== "/"};
}

// Where the rest of the glob begins if its first element (not a star) matches `c`; 0: it does not.
function matchOne(glob, at, c) {
    if (glob[at] === "?") return c === "/" ? 0 : at + 1;
    const set = glob[at] === "[" ? inSet(glob, at, c) : null;
    if (set) return set.isIn ? set.end : 0;
    const from = glob[at] === "\\" && at + 1 < glob.length ? at + 1 : at;
    return glob[from] === c ? from + 1 : 0;
}

// GIVE_UP: the text, or its folder, ended while a star was growing; a star before it cannot help.  GIVE_UP_ALL: the same
// for "**".
const NO = 0, YES = 1, GIVE_UP = 2, GIVE_UP_ALL = 3;

function matchFolders(glob, at, text, i) {
    if (at >= glob.length) return i < text.length ? YES : NO; // two stars at the end: everything inside
    for (;;) {
        const found = matchFrom(glob, at + 1, text, i, true);
        if (found === YES || found === GIVE_UP_ALL) return found;
        const slash = text.indexOf("/", i);
        if (slash < 0) return GIVE_UP_ALL;
        i = slash + 1;
    }
}

function matchStar(glob, at, text, i) {
    while (glob[at] === "*") at++;
    for (;; i++) {
        const found = matchFrom(glob, at, text, i, false);
        if (found !== NO) return found;
        if (i >= text.length || text[i] === "/") return GIVE_UP;
    }
}

function matchFrom(glob, at, text, i, isStart) {
    while (at < glob.length) {
        if (isStart && glob.startsWith("**", at) && (at + 2 === glob.length || glob[at + 2] === "/")) return matchFolders(glob, at + 2, text, i);
        if (glob[at] === "*") return matchStar(glob, at, text, i);
        isStart = glob[at] === "/";
        const next = i < text.length ? matchOne(glob, at, text[i++]) : 0;
        if (!next) return NO;
        at = next;
    }
    return i < text.length ? NO : YES;
}

// ---- rules ----

function ruleOf(line) {
    let glob = line;
    while (/[ \t\r]$/.test(glob) && glob[glob.length - 2] !== "\\") glob = glob.slice(0, -1);
    if (!glob || glob[0] === "#") return null;
    const bringsBack = glob[0] === "!";
    if (bringsBack) glob = glob.slice(1);
    const isForFolders = glob.endsWith("/");
    if (isForFolders) glob = glob.slice(0, -1);
    const isTied = glob.includes("/");
    if (glob[0] === "/") glob = glob.slice(1);
    return glob ? {glob, bringsBack, isForFolders, isTied} : null;
}

// ignoreRules(text)(path, isFolder): whether the file or folder is left out.  The caller leaves out the contents of such
// folders, too.
export function ignoreRules(text) {
    const rules = text.split("\n").map(ruleOf).filter(Boolean).reverse();
    return (path, isFolder) => {
        const name = path.slice(path.lastIndexOf("/") + 1);
        const rule = rules.find((one) => (isFolder || !one.isForFolders) && matchFrom(one.glob, 0, one.isTied ? path : name, 0, true) === YES);
        return rule ? !rule.bringsBack : false;
    };
}
