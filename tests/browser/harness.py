# SPDX-License-Identifier: Apache-2.0
"""The base of all WebUI tests: a real browser in front of a real master.

    from harness import BrowserTest, expect

    class Experiments(BrowserTest):
        def test_the_search_finds_a_name(self):
            page = self.page_at("/det/experiments")
            page.get_by_role("searchbox").fill("grid")
            expect(page.get_by_role("row")).to_have_count(2)
            self.looks(page, "experiments-search")

Each test has its own browser context (only the session cookie, no storage).  It fails if a page logs an error, violates its
content security policy, throws, leaves a rejection unhandled, or sends a request to another host.
self.allow("part of a message") allows an expected message.  Tests do not sleep: `expect` waits.

    self.page_at(address, **options)    a loaded and filled page; options of new_context(), and signed_in=False
    self.filled(page)                   waits until the page is filled
    self.settled(page)                  waits until everything received is drawn
    self.held(page, address)            holds back the next reply of the address: self.comes(page, held) waits for it and
                                        returns it, .arrive() delivers it
    self.listening(address)             a loaded and filled page whose `heard` counts the change events it received
    self.looks(page, name)              checks names, landmarks, contrast in both themes and phone width; takes screenshots
    self.shot(page, name)               takes a screenshot: $DET_SHOTS/NAME.png
    self.contrast(page), self.names(page), self.fits(page)     one of these checks
    self.keyboard_reaches(page, selector)    presses Tab until the element has the focus, which must be visible
    self.testbed                        see testbed.py
"""
import os
import re
import unittest

import chromium
from playwright.sync_api import expect, sync_playwright  # noqa: F401 (tests take expect from here)
from testbed import until

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_MS = 60000  # long, since the machine may be very busy
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}


class Answer:
    """A reply of the master that is held back."""

    def __init__(self, route, reply):
        self.route = route
        self.reply = reply

    def arrive(self):
        self.route.fulfill(response=self.reply)


class Fixture:
    """The browser and the testbed, shared by all tests."""

    def __init__(self, testbed, shots):
        self.testbed = testbed
        self.shots = shots
        os.makedirs(shots, exist_ok=True)
        self.playwright = sync_playwright().start()
        self.browser = chromium.launch(self.playwright)
        expect.set_options(timeout=TIMEOUT_MS)
        with open(os.path.join(HERE, "page_checks.js"), encoding="utf-8") as file:
            self.page_checks = file.read()

    def close(self):
        self.browser.close()
        self.playwright.stop()


fixture = None  # set by `run`


class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.testbed = fixture.testbed
        self.trouble = []
        self.allowed = []
        self.contexts = []

    def tearDown(self):
        # wait for pending messages
        for context in self.contexts:
            for page in context.pages:
                page.evaluate("0")
            context.close()
        left = [text for text in self.trouble if not any(re.search(part, text) for part in self.allowed)]
        self.assertEqual(left, [], "the browser reported errors")

    def allow(self, part):
        """Allows an error message that this test causes; a regular expression."""
        self.allowed.append(part)

    # ---- pages

    def context(self, signed_in=True, token=None, **options):
        context = fixture.browser.new_context(**{"viewport": DESK, "color_scheme": "light", "locale": "en-GB", **options})
        context.set_default_timeout(TIMEOUT_MS)
        if signed_in:
            context.add_cookies([{"name": "auth", "value": token or self.testbed.token, "url": self.testbed.url,
                                  "httpOnly": True, "sameSite": "Strict"}])
        context.on("request", self.on_request)
        context.on("page", self.on_page)
        self.contexts.append(context)
        return context

    def on_request(self, request):
        if not request.url.startswith((self.testbed.url + "/", "data:", "blob:")):
            self.trouble.append("a request to another host: " + request.url)

    def on_page(self, page):
        page.on("console", lambda message: message.type == "error" and self.trouble.append(
            f"console: {message.text} ({message.location.get('url', '')})"))
        page.on("dialog", lambda dialog: (self.trouble.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.trouble.append(f"thrown: {error}"))

    def page_at(self, address, signed_in=True, wait=True, **options):
        page = self.context(signed_in=signed_in, **options).new_page()
        page.goto(self.testbed.url + address)
        if wait:
            self.filled(page)
        return page

    def filled(self, page):
        page.wait_for_selector("body[data-page]", state="attached")
        return page

    def settled(self, page):
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def held(self, page, address):
        answers = []

        page.route(address, lambda route: answers.append(Answer(route, route.fetch())), times=1)
        return answers

    def comes(self, page, answers):
        until(lambda: page.evaluate("true") and answers, "an answer to hold")
        return answers[0]

    def listening(self, address):
        context = self.context()
        context.add_init_script("""
            window.heard = 0;
            window.EventSource = class extends EventSource {
                constructor(...all) { super(...all); this.addEventListener("changes", () => heard++); }
            };""")
        page = context.new_page()
        page.goto(self.testbed.url + address)
        return self.filled(page)

    # ---- checks

    def shot(self, page, name, full=True):
        page.screenshot(path=os.path.join(fixture.shots, name + ".png"), full_page=full, animations="disabled")

    def ask(self, page, what):
        if not page.evaluate("!!window.pageChecks"):
            page.evaluate(fixture.page_checks)
        return page.evaluate(f"pageChecks.{what}()")

    def both_themes(self, page):
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            self.settled(page)
            yield scheme

    def contrast(self, page):
        for scheme in self.both_themes(page):
            self.assertEqual(self.ask(page, "contrast"), [], scheme)

    def names(self, page):
        self.assertEqual(self.ask(page, "names"), [])

    def fits(self, page):
        self.assertEqual(self.ask(page, "overflow"), [])

    def looks(self, page, name):
        """All checks, in both themes and at phone width, with screenshots; restores the size."""
        size = page.viewport_size
        self.names(page)
        for scheme in self.both_themes(page):
            self.assertEqual(self.ask(page, "contrast"), [], scheme)
            self.shot(page, f"{name}-{scheme}")
        self.fits(page)
        page.set_viewport_size(PHONE)
        self.fits(page)
        self.shot(page, f"{name}-phone")
        page.set_viewport_size({"width": 360, "height": 640})
        self.fits(page)
        page.set_viewport_size(size)

    def keyboard_reaches(self, page, selector, key="Tab", steps=200):
        for _ in range(steps):
            page.keyboard.press(key)
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                self.assertTrue(self.ask(page, "showsFocus"), f"{selector} has the focus but does not show it")
                return page.locator(":focus")
        self.fail(f"the keyboard does not reach {selector}")
