# SPDX-License-Identifier: Apache-2.0
"""What every test of the WebUI begins with: a real browser in front of a real master.

    from harness import BrowserTest, expect

    class Experiments(BrowserTest):
        def test_the_search_finds_a_name(self):
            page = self.page_at("/det/experiments")
            page.get_by_role("searchbox").fill("grid")
            expect(page.get_by_role("row")).to_have_count(2)
            self.looks(page, "experiments-search")

Each test has a context of its own (no cookies but its session, no storage).  It fails by itself
when a page logs an error, breaks its content-security policy, throws, leaves a rejection
unhandled, or asks another host for anything; self.allow("part of a message") says that this one is
meant to come.  Nobody sleeps: `expect` waits.

    self.page_at(address, **options)    a page, loaded and filled; options of new_context(), and signed_in=False
    self.filled(page)                   waits until the page that is shown has been filled
    self.settled(page)                  what has come is drawn
    self.held(page, address)            the next answer from there will be held: self.comes(page, held) waits for it and gives it,
                                        .arrive() lets it go
    self.listening(address)             a page, loaded and filled, whose `heard` counts the changes that it was told of
    self.looks(page, name)              names, landmarks, contrast in both themes, phone width; pictures of all
    self.shot(page, name)               a picture: $DET_SHOTS/NAME.png
    self.contrast(page), self.names(page), self.fits(page)     each of them alone
    self.keyboard_reaches(page, selector)    with Tab alone; leaves the focus there, which must be seen
    self.world                          see world.py
"""
import os
import re
import unittest

import chromium
from playwright.sync_api import expect, sync_playwright  # noqa: F401 (tests take expect from here)
from world import until

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_MS = 60000  # for what never comes: whatever does is waited for, however busy the machine is
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}


class Answer:
    """What the master said, on its way to a page."""

    def __init__(self, route, reply):
        self.route = route
        self.reply = reply

    def arrive(self):
        self.route.fulfill(response=self.reply)


class Stage:
    """The browser and the world, once for all tests."""

    def __init__(self, world, shots):
        self.world = world
        self.shots = shots
        os.makedirs(shots, exist_ok=True)
        self.playwright = sync_playwright().start()
        self.browser = chromium.launch(self.playwright)
        expect.set_options(timeout=TIMEOUT_MS)
        with open(os.path.join(HERE, "look.js"), encoding="utf-8") as file:
            self.look = file.read()

    def close(self):
        self.browser.close()
        self.playwright.stop()


stage = None  # set by `run`


class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.world = stage.world
        self.trouble = []
        self.allowed = []
        self.contexts = []

    def tearDown(self):
        # what is on its way comes first
        for context in self.contexts:
            for page in context.pages:
                page.evaluate("0")
            context.close()
        left = [text for text in self.trouble if not any(re.search(part, text) for part in self.allowed)]
        self.assertEqual(left, [], "the browser complained")

    def allow(self, part):
        """A complaint that this test brings about, as a regular expression."""
        self.allowed.append(part)

    # ---- pages

    def context(self, signed_in=True, token=None, **options):
        context = stage.browser.new_context(**{"viewport": DESK, "color_scheme": "light", "locale": "en-GB", **options})
        context.set_default_timeout(TIMEOUT_MS)
        if signed_in:
            context.add_cookies([{"name": "auth", "value": token or self.world.token, "url": self.world.url,
                                  "httpOnly": True, "sameSite": "Strict"}])
        context.on("request", self.on_request)
        context.on("page", self.on_page)
        self.contexts.append(context)
        return context

    def on_request(self, request):
        if not request.url.startswith((self.world.url + "/", "data:", "blob:")):
            self.trouble.append("a request to another host: " + request.url)

    def on_page(self, page):
        page.on("console", lambda message: message.type == "error" and self.trouble.append(
            f"console: {message.text} ({message.location.get('url', '')})"))
        page.on("dialog", lambda dialog: (self.trouble.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.trouble.append(f"thrown: {error}"))

    def page_at(self, address, signed_in=True, wait=True, **options):
        page = self.context(signed_in=signed_in, **options).new_page()
        page.goto(self.world.url + address)
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
        page.goto(self.world.url + address)
        return self.filled(page)

    # ---- looking

    def shot(self, page, name, full=True):
        page.screenshot(path=os.path.join(stage.shots, name + ".png"), full_page=full, animations="disabled")

    def ask(self, page, what):
        if not page.evaluate("!!window.look"):
            page.evaluate(stage.look)
        return page.evaluate(f"look.{what}()")

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
        """All of it, in both themes and as wide as a phone, with pictures; then as before."""
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
                self.assertTrue(self.ask(page, "showsFocus"), f"{selector} has the focus, and does not show it")
                return page.locator(":focus")
        self.fail(f"the keyboard does not reach {selector}")
