# SPDX-License-Identifier: Apache-2.0
"""A real browser with a stopwatch: how long until a page shows what it is to show.

Runs under the Python of build/venv, which has Playwright:

    browser.py < jobs.json > figures.json

A job is {"name", "url", "until", "then": [{"do", "until"}…], "rounds"}: JavaScript expressions.  `until` is
looked at before every frame; the figure is the page's own clock when it held, in milliseconds since the
navigation began (or since `do` was run).  Every round has a fresh profile, so that nothing is cached but what the
server keeps.  What was sent is counted, too: bytes, and requests.
"""
import json
import os
import sys

from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import chromium  # noqa: E402

SETTLE_MS = 1500  # a window that has just been opened still puts itself together, which takes a processor
CLICK_MS = 300  # nobody clicks again within a frame
LIMIT_MS = int(os.environ.get("BROWSER_LIMIT_MS", 300_000))
WATCH = """([until, since]) => new Promise((done, fail) => {
    const holds = new Function("return (" + until + ")");
    const end = performance.now() + %d;
    const look = () => {
        let is = false;
        try { is = holds(); } catch (error) { /* not there yet */ }
        if (is) requestAnimationFrame(() => done(performance.now() - since));
        else if (performance.now() > end) fail(new Error("waited in vain for " + until));
        else requestAnimationFrame(look);
    };
    look();
})""" % LIMIT_MS


def one_round(browser, job):
    context = browser.new_context(viewport={"width": 1400, "height": job.get("height", 900)})
    page = context.new_page()
    page.set_default_timeout(LIMIT_MS)
    page.wait_for_timeout(SETTLE_MS)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sent = []
    session.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    try:
        page.goto(job["url"], wait_until="commit")
        figures = [page.evaluate(WATCH, [job["until"], 0])]
        bytes_sent = sum(sent)
        for step in job.get("then", []):
            for _ in range(step.get("times", 1)):
                page.wait_for_timeout(CLICK_MS)
                since = page.evaluate("() => { const now = performance.now(); %s; return now; }" % step["do"])
                figures.append(page.evaluate(WATCH, [step["until"], since]))
        if job.get("shot"):
            page.screenshot(path=job["shot"])
    except Exception:
        if job.get("shot"):
            page.screenshot(path=job["shot"])
        raise
    finally:
        context.close()
    return {"ms": figures, "bytes": bytes_sent, "requests": len(sent)}


def main():
    jobs = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        out = {}
        for job in jobs:
            try:
                out[job["name"]] = [one_round(browser, job) for _ in range(job.get("rounds", 3))]
            except Exception as error:
                out[job["name"]] = str(error)[:500]
        browser.close()
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
