// SPDX-License-Identifier: Apache-2.0
// api.js - calls to the master.  The session is a cookie that scripts cannot read.
//
// Everything that fails throws an ApiError with one sentence: the master's own where it sent one.
// A session that is over goes to whoever asked to be told (app.js shows the sign-in page).

export class ApiError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status; // 0: the master could not be reached
    }
}

let onSignedOut = () => {};
export function whenSignedOut(fn) {
    onSignedOut = fn;
}

// {a: 1, b: [2, 3], c: ""} -> "?a=1&b=2&b=3"; what is empty is left out.
export function queryText(query) {
    const out = new URLSearchParams();
    for (const [name, value] of Object.entries(query || {})) {
        for (const one of Array.isArray(value) ? value : [value]) {
            if (one !== undefined && one !== null && one !== "") out.append(name, one);
        }
    }
    const text = out.toString();
    return text && "?" + text;
}

async function failure(reply) {
    let text = "";
    try {
        const body = await reply.json();
        text = body.error?.error || body.message || "";
    } catch { /* not JSON: the status has to do */ }
    return new ApiError(reply.status, text || `the master answered with status ${reply.status}`);
}

async function call(method, path, {query, body, signal, headers} = {}) {
    let reply;
    try {
        reply = await fetch(path + queryText(query), {
            method, signal, credentials: "same-origin",
            headers: {...(body === undefined ? {} : {"Content-Type": "application/json"}), ...headers},
            body: body === undefined ? undefined : JSON.stringify(body),
        });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError(0, "the master cannot be reached");
    }
    if (reply.ok || reply.status === 304) return reply;
    const error = await failure(reply);
    if (error.status === 401 && !path.endsWith("/auth/login")) onSignedOut();
    throw error;
}

const json = async (reply) => (await reply).json();

// What a page will ask for once it is there, while it is still being put together: the next get() of the same
// address takes this answer; if nobody has come for it soon, it is forgotten.
const AHEAD_MS = 5000;
const early = new Map();
export function ahead(path, query, options) {
    const address = path + queryText(query);
    const answer = json(call("GET", path, {query, ...options}));
    const forget = () => early.get(address) === answer && early.delete(address);
    answer.catch(() => {});
    early.set(address, answer);
    setTimeout(forget, AHEAD_MS);
    options?.signal?.addEventListener("abort", forget);
}

// The last argument may be {signal}: an AbortSignal that gives the call up.
export function get(path, query, options) {
    const address = path + queryText(query);
    const answer = early.get(address);
    early.delete(address);
    return answer || json(call("GET", path, {query, ...options}));
}
export const post = (path, body = {}, options) => json(call("POST", path, {body, ...options}));
export const patch = (path, body = {}, options) => json(call("PATCH", path, {body, ...options}));
export const put = (path, body = {}, options) => json(call("PUT", path, {body, ...options}));
export const del = (path, body, options) => json(call("DELETE", path, {body, ...options}));
export const text = async (path, query, options) => (await call("GET", path, {query, ...options})).text();
export const binary = async (path, query, options) => (await call("GET", path, {query, ...options})).arrayBuffer();

// One JSON object a line, as they come.
export async function stream(path, query, onObject, options) {
    const reply = await call("GET", path, {query, ...options});
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const {value, done} = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) onObject(JSON.parse(line));
    }
    if (rest.trim()) onObject(JSON.parse(rest));
}

export const isAbort = (error) => error?.name === "AbortError";
