# SPDX-License-Identifier: Apache-2.0
"""The frame around the pages: loading, navigation, and errors."""
import re

from harness import PHONE, BrowserTest, expect
from testbed import Testbed

FIRST_PAGE_BYTES = 150_000


class Frame(BrowserTest):
    def test_the_address_of_the_master_leads_to_the_page(self):
        page = self.page_at("/")
        self.assertEqual(page.url, self.testbed.url + "/det/")
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()

    def test_the_first_page_is_small_and_comes_once(self):
        page = self.context().new_page()
        sent = {}
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.on("Network.responseReceived", lambda event: sent.setdefault(event["requestId"], [event["response"]["url"], 0]))
        network.on("Network.loadingFinished", lambda event: sent.setdefault(event["requestId"], ["?", 0]).__setitem__(1, event["encodedDataLength"]))
        page.goto(self.testbed.url + "/det/")
        self.filled(page)
        # the icon is read when it is drawn
        page.wait_for_function("performance.getEntriesByType('resource').some((one) => one.name.endsWith('icon.svg') && one.responseEnd > 0)")
        total = sum(size for _, size in sent.values())
        self.assertLess(total, FIRST_PAGE_BYTES, sorted(sent.values(), key=lambda row: -row[1])[:8])
        self.assertFalse([url for url, _ in sent.values() if "/vendor/" in url], "only pages with charts need the chart library")
        files = [url for url, _ in sent.values() if "/det/web/" in url]
        self.assertGreater(len(files), 5)
        sent.clear()
        page.reload()
        self.filled(page)
        again = sum(size for url, size in sent.values() if "/det/web/" in url)
        self.assertEqual(again, 0, "unchanged files come from the cache")

    def test_addresses_without_the_first_part_are_understood(self):
        page = self.page_at("/experiments?q=x", wait=False)
        expect(page.get_by_role("heading", name="Experiments", exact=True)).to_be_visible()
        self.assertEqual(page.url, self.testbed.url + "/det/experiments?q=x")

    def test_every_tab_has_an_address_that_the_master_knows(self):
        for address in (f"/det/experiments/{self.testbed.ids['search']}", f"/det/trials/{self.testbed.trials('search')[0]}", f"/det/tasks/{self.testbed.job}"):
            page = self.page_at(address)
            links = page.locator(".tabs a").evaluate_all("(all) => all.map((one) => one.href)")
            self.assertGreater(len(links), 2)
            for link in links:
                self.assertEqual(page.request.get(link).status, 200, link)
                page.goto(link)
                self.filled(page)
                self.assertEqual(page.locator(".tabs [aria-current]").evaluate("(one) => one.href"), link)

    def test_a_view_that_no_page_has_says_so(self):
        self.allow("404")
        for address in ("/det/experiments/1/nonsense", "/det/trials/1/nonsense", "/nonsense"):
            page = self.page_at(address, wait=False)
            expect(page.get_by_role("heading", name="Page not found")).to_be_visible()

    def test_an_address_that_nothing_has_says_so(self):
        self.allow(r"status of 404.*/det/nowhere")
        context = self.context()
        page = context.new_page()
        reply = page.goto(self.testbed.url + "/det/nowhere/<script>?x=%3Cb%3E")
        self.assertEqual(reply.status, 404)
        self.filled(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
        self.looks(page, "missing")
        page.get_by_role("main").get_by_role("link", name="Home").click()
        expect(page).to_have_url(self.testbed.url + "/det/")

    def test_a_button_can_be_read_while_the_mouse_is_on_it(self):
        page = self.page_at("/det/settings")
        button = page.get_by_role("button", name="Change password")
        look = "(node) => [getComputedStyle(node).backgroundColor, getComputedStyle(node).color]"
        before = button.evaluate(look)
        button.hover()
        self.assertEqual(button.evaluate(look), before)

    def test_every_place_has_its_page_and_status_and_the_history_works(self):
        page = self.page_at("/det/")
        links = page.get_by_role("navigation", name="Main").get_by_role("link")
        for i in range(links.count()):
            links.nth(i).click()
            self.filled(page)
            expect(links.nth(i)).to_have_attribute("aria-current", "page")
            self.assertEqual(page.request.get(page.url).status, 200)
        page.go_back()
        self.filled(page)
        expect(links.nth(links.count() - 2)).to_have_attribute("aria-current", "page")

    def test_the_keyboard_skips_to_the_content_and_goes_places(self):
        page = self.page_at("/det/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("main")).to_be_focused()
        page.keyboard.press("g")
        page.keyboard.press("s")
        expect(page).to_have_url(self.testbed.url + "/det/settings")
        self.keyboard_reaches(page, ".places a")
        page.keyboard.press("Enter")
        expect(page).to_have_url(self.testbed.url + "/det/")

    def test_a_page_that_is_left_while_it_loads_leaves_nothing_behind(self):
        context = self.context()
        context.add_init_script("""
            window.streams = new Set();
            window.EventSource = class extends EventSource {
                constructor(...all) { super(...all); streams.add(this); }
                close() { streams.delete(this); super.close(); }
            };""")
        page = context.new_page()
        held = []
        page.route("**/trials-table*", lambda route: held.append(route))
        page.goto(self.testbed.url + "/det/")
        self.filled(page)
        with page.expect_request("**/trials-table*"):
            page.evaluate("""history.pushState(null, "", "/det/experiments/1"); dispatchEvent(new PopStateEvent("popstate"))""")
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Tasks").click()
        self.filled(page)
        expect(page).to_have_title("Tasks – det")
        page.wait_for_function("streams.size > 0")
        self.assertEqual(page.evaluate("[...streams].map((one) => new URL(one.url).searchParams.get('kinds'))"), ["jobs,queue"])
        page.unroute_all(behavior="ignoreErrors")

    def test_the_last_value_of_a_repeated_parameter_counts(self):
        id_ = self.testbed.ids["search"]
        trial = self.testbed.trials("search")[0]
        for address in ("/login?next=a&next=%2Fsettings", f"/trials/{trial}/metrics?q=x&q=loss&group=x&group=training&x=time&x=steps",
                        f"/trials/{trial}/logs?q=a&q=b&line=1&line=2&level=INFO&level=ERROR", "/experiments?search=a&search=b&sort=id&sort=name&columns=id&columns=name",
                        f"/experiments/{id_}/trials?sort=id&sort=-id&state=x&state=y", f"/experiments/{id_}/checkpoints?sort=a&sort=b",
                        f"/experiments/{id_}/code?file=a&file=b", f"/experiments/{id_}/search?brush=a&brush=b&axes=a&axes=b", f"/experiments/{id_}?metric=a&metric=b",
                        f"/compare?experiments={id_}&experiments={id_}&metrics=a&metrics=b", "/tasks?q=a&q=b&type=a&type=b&sort=start&sort=-start", "/?of=everyone&of=mine"):
            with self.subTest(address):
                page = self.page_at("/det" + address)
                expect(page.get_by_role("heading").first).to_be_attached()
                self.assertEqual(page.locator("main .error").count(), 0, address)
                page.close()
        page = self.page_at(f"/det/trials/{trial}/metrics?q=x&q=loss&toString=1")
        expect(page.get_by_role("searchbox", name="Search metrics by name")).to_have_value("loss")
        page = self.page_at("/det/experiments?states=ACTIVE&states=COMPLETED")
        self.assertEqual(page.url.count("states="), 2)

    def test_typed_text_does_not_end_up_in_the_address_of_the_next_page(self):
        page = self.page_at("/det/tasks")
        page.evaluate("""() => {
            const box = document.querySelector("main input[type=search]");
            box.value = "abc";
            box.dispatchEvent(new Event("input"));
            document.querySelector("nav.places a[href$='/cluster']").click();
        }""")
        self.filled(page)
        page.evaluate("new Promise((done) => setTimeout(done, 300))")  # longer than the delay of the search box
        expect(page).to_have_url(self.testbed.url + "/det/cluster")

    def test_the_shortcuts_are_listed_and_the_focus_is_on_the_content(self):
        page = self.page_at("/det/")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        self.contrast(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("row").get_by_role("link").first.click()
        self.filled(page)
        expect(page.get_by_role("main")).to_be_focused()
        expect(page).to_have_title(re.compile("."))

    def test_all_places_are_within_reach_on_a_phone(self):
        page = self.page_at("/det/", viewport=PHONE, has_touch=True, is_mobile=True)
        for name in ("Workspaces", "Experiments", "Tasks", "Cluster"):
            place = page.get_by_role("navigation", name="Main").get_by_role("link", name=name)
            expect(place).to_be_in_viewport(ratio=1)
            place.tap()
            self.filled(page)
        page.get_by_role("link", name="settings").tap()
        expect(page).to_have_url(self.testbed.url + "/det/settings")

    def test_the_head_of_a_page_is_small_on_a_phone(self):
        top = "(node) => node.getBoundingClientRect().top"
        page = self.page_at(f"/det/experiments/{self.testbed.ids['ranks']}", viewport=PHONE)
        self.assertLessEqual(page.locator("header.top").bounding_box()["height"], 40)
        self.assertLess(page.locator(".view").evaluate(top), 330)
        expect(page.locator(".actions").get_by_role("button", name="More")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Edit description")).to_be_visible()
        self.shot(page, "experiment-phone-head", full=False)
        page.goto(self.testbed.url + f"/det/trials/{self.testbed.trials('ranks')[0]}")
        self.filled(page)
        self.assertLess(page.locator(".trial-view").evaluate(top), 370)
        self.shot(page, "trial-phone-head", full=False)

    def test_a_page_that_is_open_while_the_program_is_replaced_loads_the_new_one(self):
        self.allow(r"status of 404.*/pages/settings.js")
        page = self.page_at("/det/")
        old = []

        def once(text, status):
            def answer(route):
                if route.request.url in old:
                    return route.continue_()
                old.append(route.request.url)
                return route.fulfill(status=status, body=text)
            return answer

        page.route("**/pages/settings.js", once("no such file", 404))
        page.route(self.testbed.url + "/det/", once("a page with other addresses", 200))
        page.get_by_role("link", name="settings").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
        self.assertEqual(len(old), 2)
        self.assertEqual(page.url, self.testbed.url + "/det/settings")

    def test_a_page_of_another_site_cannot_show_it_in_a_frame(self):
        page = self.context().new_page()
        reply = page.goto(self.testbed.url + "/det/")
        self.assertIn("frame-ancestors 'none'", reply.headers["content-security-policy"])
        self.assertEqual(reply.headers["x-frame-options"], "DENY")

    def test_the_policy_of_the_page_lets_nothing_else_run(self):
        self.allow("Content Security Policy|Content-Security-Policy")
        page = self.page_at("/det/")
        ran = page.evaluate("""() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const box = document.createElement("div");
            box.innerHTML = "<img src='data:image/png,' onerror='window.ran = true'>";
            document.body.append(box);
            return new Promise((done) => setTimeout(() => done(!!window.ran), 50));
        }""")
        self.assertFalse(ran)
        self.assertTrue(any("Content Security Policy" in text for text in self.trouble))


class MasterGoesAway(BrowserTest):
    """With a separate master, since the other tests need theirs."""

    def setUp(self):
        super().setUp()
        self.testbed = Testbed(self.testbed.program)
        self.addCleanup(self.testbed.stop)
        self.testbed.start()
        self.allow(r"ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of 503")

    def test_a_page_that_is_open_says_so_and_goes_on_when_it_is_back(self):
        page = self.page_at("/det/?of=everyone")
        away = page.get_by_text("The master cannot be reached")
        expect(away).to_be_hidden()
        self.testbed.kill_master()
        expect(away).to_be_visible()
        self.contrast(page)
        self.shot(page, "master-away")
        self.testbed.revive()
        expect(away).to_be_hidden()
        self.testbed.create("after the restart", "#!/bin/sh\n")
        expect(page.get_by_role("link", name="after the restart").first).to_be_visible()

    def test_a_page_that_is_opened_meanwhile_appears_when_it_is_back(self):
        page = self.page_at("/det/settings")
        self.testbed.kill_master()
        page.get_by_role("link", name="Home", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("The master cannot be reached")
        self.testbed.revive()
        expect(page.get_by_role("heading", name="Cluster")).to_be_visible()

    def test_a_second_look_is_taken_though_the_first_failed(self):
        page = self.page_at("/det/")
        out = page.evaluate("""async () => {
            const base = document.querySelector('link[rel=modulepreload]').href;
            const {throttle} = await import(new URL('dom.js', base).href);
            let calls = 0;
            const look = throttle(async () => {
                if (++calls === 1) throw new Error('the first');
            });
            const ends = await Promise.allSettled([look(), look()]);
            return [calls, ...ends.map((one) => one.status)];
        }""")
        self.assertEqual(out, [2, "fulfilled", "fulfilled"])
