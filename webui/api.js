// SPDX-License-Identifier: Apache-2.0
// api.js - calls to the master.  The session is a cookie that scripts cannot read.
//
// A call that fails throws an ApiError with one sentence: the master's own if it sent one.  When the session has ended,
// the function given to whenSignedOut() is called (app.js shows the sign-in page).

export class ApiError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status; // 0: the master could not be reached
    }
}

let onSignedOut = () => {};
let onDiskFull = () => {};
export function whenSignedOut(fn) {
    onSignedOut = fn;
}

// `fn` is called when a call fails because the master's disk is full.
export function whenDiskFull(fn) {
    onDiskFull = fn;
}

// {a: 1, b: [2, 3], c: ""} -> "?a=1&b=2&b=3"; empty values are left out.
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
    } catch { /* not JSON: only the status is known */ }
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
    if (error.status === 503 && error.message.includes("no space left on the disk")) onDiskFull();
    throw error;
}

const json = async (reply) => (await reply).json();

// Starts a call whose reply a page needs a little later.  The next get() of the same address takes the reply; after
// PREFETCH_MS it is dropped.
const PREFETCH_MS = 5000;
const prefetched = new Map();
export function prefetch(path, query, options) {
    const address = path + queryText(query);
    const answer = json(call("GET", path, {query, ...options}));
    const forget = () => prefetched.get(address) === answer && prefetched.delete(address);
    answer.catch(() => {});
    prefetched.set(address, answer);
    setTimeout(forget, PREFETCH_MS);
    options?.signal?.addEventListener("abort", forget);
}

// `options` may be {signal}: an AbortSignal that aborts the call.
export function get(path, query, options) {
    const address = path + queryText(query);
    const answer = prefetched.get(address);
    prefetched.delete(address);
    return answer || json(call("GET", path, {query, ...options}));
}
export const post = (path, body = {}, options) => json(call("POST", path, {body, ...options}));
export const patch = (path, body = {}, options) => json(call("PATCH", path, {body, ...options}));
export const put = (path, body = {}, options) => json(call("PUT", path, {body, ...options}));
export const del = (path, body, options) => json(call("DELETE", path, {body, ...options}));
export const text = async (path, query, options) => (await call("GET", path, {query, ...options})).text();
export const binary = async (path, query, options) => (await call("GET", path, {query, ...options})).arrayBuffer();

// Reads one JSON object per line and calls onObject with each as it arrives.
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
