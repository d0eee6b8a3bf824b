# SPDX-License-Identifier: Apache-2.0
"""Logs: any number of lines with a few hundred in the page; filters, search, times, new lines, keyboard, address."""
import re

from harness import BrowserTest, expect

MANY = 1000000
BATCH = 50000  # lines per call: the limit of a body
SECOND = 1000000
BEGAN = 1767225600 * SECOND  # 2026-01-01T00:00:00Z
MOST_ROWS = 1000

TAIL = r"""#!/bin/sh
echo "ready to go"
while [ ! -f "$1" ]; do sleep 0.05; done
i=0
while [ $i -lt 30 ]; do i=$((i + 1)); echo "later line $i"; done
while [ ! -f "$2" ]; do sleep 0.05; done
echo "the very last line"
"""


class Logs(BrowserTest):
    million = None

    # ---- data

    def task_of(self, experiment):
        return self.testbed.api("GET", f"/api/v1/trials/{self.testbed.trials(experiment)[0]}")["trial"]["taskId"]

    def post(self, trial, first, count, offset, stream="stdout", step=SECOND):
        """Writes `count` lines from line `first` to the log of an unmanaged trial, `step` apart.  Returns the next offset."""
        texts = [("ERROR: bad thing %d" if n % 100000 == 50000 else "epoch %d of the long run, loss 0.25") % n
                 for n in range(first, first + count)]
        lines = ",".join('[%d,"%s"]' % (BEGAN + (first + i) * step, text) for i, text in enumerate(texts))
        end = offset + sum(len(text) + 1 for text in texts)
        body = '{"rank":0,"stream":"%s","offset":%d,"endOffset":%d,"lines":[%s]}' % (stream, offset, end, lines)
        self.testbed.send("POST", f"/api/v1/det/trials/{trial}/output", body.encode())
        return end

    def unmanaged(self, name):
        config = {"name": name, "searcher": {"name": "single", "metric": "loss"}, "entrypoint": "true"}
        experiment = self.testbed.api("POST", "/api/v1/experiments", {"config": str(config).replace("'", '"'), "unmanaged": True})
        trial = self.testbed.api("POST", "/api/v1/trials", {"experimentId": experiment["experiment"]["id"], "unmanaged": True})["trial"]
        return trial["id"], trial["taskId"]

    def a_million(self):
        """A log too long for any page; created once."""
        if not Logs.million:
            trial, task = self.unmanaged("a million lines")
            offset = 0
            for first in range(1, MANY + 1, BATCH):
                offset = self.post(trial, first, min(BATCH, MANY + 1 - first), offset)
            Logs.million = (trial, task)
        return Logs.million[1]

    # ---- helpers

    def at(self, task, query="", **options):
        page = self.page_at(f"/det/logs/{task}{query}", **options)
        self.log = page.get_by_role("region", name="Log", exact=True)
        return page

    def line(self, page, n):
        return page.locator(f".ln[data-n='{n}']")

    def in_sight(self, page, n):
        expect(self.line(page, n)).to_be_in_viewport()

    def is_bounded(self, page):
        self.assertLess(page.locator(".ln").count(), MOST_ROWS)
        self.assertLess(page.evaluate("document.querySelectorAll('*').length"), 12 * MOST_ROWS)

    def go_to(self, page, where):
        box = page.get_by_role("textbox", name="Go to line or time")
        box.fill(where)
        box.press("Enter")

    # ---- one log

    def test_lines_have_number_time_rank_and_level(self):
        page = self.at(self.task_of("ranks"), "?level=ERROR")  # the order of stdout and stderr lines is random
        expect(page.get_by_role("heading", level=1)).to_contain_text("Logs of trial")
        row = page.get_by_text("a bad thing", exact=True).locator("..")
        expect(row.locator(".rk")).to_have_text("2")
        expect(row.locator(".lv")).to_have_text("ERROR")
        expect(row.locator(".tm")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d\.\d\d\d$"))
        page.get_by_role("combobox", name="Level").select_option("")
        expect(page.locator(".ln").nth(100)).to_be_attached()
        expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("log").press("Home")
        expect(page.get_by_text("a very bad thing").locator("..")).to_have_class(re.compile("lv-critical"))
        self.looks(page, "logs")

    def test_filters_leave_what_they_say_and_are_in_the_address(self):
        page = self.at(self.task_of("ranks"))
        page.get_by_role("combobox", name="Level").select_option("WARNING")
        expect(page.locator(".ln")).to_have_count(6)
        page.get_by_role("combobox", name="Rank").select_option("2")
        expect(page.locator(".ln .tx")).to_have_text(["a doubtful thing", "a bad thing"])
        page.get_by_role("combobox", name="Stream").select_option("stdout")
        expect(page.get_by_text("No lines match the filters.")).to_be_visible()
        page.get_by_role("combobox", name="Stream").select_option("stderr")
        expect(page.locator(".ln")).to_have_count(2)
        self.assertEqual(page.url.split("?")[1], "level=WARNING&rank=2&stream=stderr")
        again = self.page_at(page.url.removeprefix(self.testbed.url))
        expect(again.locator(".ln .tx")).to_have_text(["a doubtful thing", "a bad thing"])
        expect(again.get_by_role("combobox", name="Rank")).to_have_value("2")
        text = self.testbed.fetch(again.get_by_role("link", name="Download").get_attribute("href"))
        self.assertEqual(text.decode().count("\n"), 2)
        self.assertIn("[rank=2] || ERROR: a bad thing\n", text.decode())

    def test_program_output_is_text(self):
        page = self.at(self.task_of("markup"))
        expect(page.locator(".ln .tx").filter(has_text='<script>alert("logs")</script> & <b>not bold</b>')).to_have_count(1)
        red = page.locator(".tx .c-red")
        expect(red).to_have_text("red")
        expect(red.locator("..")).to_have_text("red &lt; <img src=x onerror=alert(3)>")
        self.assertEqual(page.evaluate("document.querySelectorAll('.log b, .log script, .log img').length"), 0)

    def test_long_lines_are_cut_and_shown_whole_on_demand(self):
        trial, task = self.unmanaged("long")
        text = "x" * 1000000 + " the end of it"
        self.testbed.api("POST", f"/api/v1/det/trials/{trial}/output", {
            "rank": 0, "stream": "stdout", "offset": 0, "endOffset": len(text) + 10,
            "lines": [[BEGAN, text], [BEGAN, "10%|#    |\r100%|####|"]]})
        page = self.at(task)
        expect(page.locator(".ln .tx").nth(1)).to_have_text("100%|####|")
        self.assertLess(len(page.locator(".ln .tx").first.text_content()), 5000)
        page.get_by_role("button", name=re.compile("show all .1.0 MB.")).click()
        expect(page.locator(".ln .tx").first).to_contain_text("the end of it")
        page.get_by_role("button", name="show less").click()
        expect(page.locator(".ln .tx").first).not_to_contain_text("the end of it")

    def test_a_line_that_is_rewritten_changes_in_place(self):
        trial, task = self.unmanaged("a bar")

        def post(offset, end, lines, live=None):
            self.testbed.api("POST", f"/api/v1/det/trials/{trial}/output", {
                "rank": 0, "stream": "stderr", "offset": offset, "endOffset": end, "lines": [[BEGAN, line] for line in lines],
                **({"live": [BEGAN, live]} if live else {})})

        post(0, 6, ["begin"], "10%|#    |")
        page = self.at(task)
        rows, bar = page.locator(".log-list:not(.log-live) .ln .tx"), page.locator(".log-live .ln .tx")
        expect(rows).to_have_text(["begin"])
        expect(bar).to_have_text(["10%|#    |"])
        post(6, 20, [], "60%|###  |")
        expect(bar).to_have_text(["60%|###  |"])
        post(20, 26, ["other"], "61%|###  |")
        expect(rows).to_have_text(["begin", "other"])
        expect(bar).to_have_text(["61%|###  |"])
        self.shot(page, "logs-bar")
        page.get_by_role("combobox", name="Stream").select_option("stdout")
        expect(bar).to_have_count(0)
        page.get_by_role("combobox", name="Stream").select_option("stderr")
        expect(bar).to_have_count(1)
        post(26, 40, ["100%|#####|"])
        expect(rows).to_have_text(["begin", "other", "100%|#####|"])
        expect(bar).to_have_count(0)

    def test_a_hit_far_behind_in_a_long_line_is_shown(self):
        trial, task = self.unmanaged("far behind")
        lines = ["y" * 200 + " needle one " + "y" * 5000, "z" * 2000 + " needle two " + "z" * 5000, "x" * 100000 + " needle three " + "x" * 100000, "needle four"]
        self.testbed.api("POST", f"/api/v1/det/trials/{trial}/output", {
            "rank": 0, "stream": "stdout", "offset": 0, "endOffset": sum(len(line) + 1 for line in lines), "lines": [[BEGAN, line] for line in lines]})
        page = self.at(task, "?q=needle")
        page.get_by_role("button", name="List").click()
        rows = page.locator(".log-hit")
        expect(rows).to_have_count(4)
        for row, text, letter in zip(range(3), ("one", "two", "three"), "yzx"):
            expect(rows.nth(row)).to_have_text(re.compile(f"^{row + 1}…{letter * 15} needle {text} "))
            expect(rows.nth(row).locator("mark")).to_be_in_viewport()
        expect(rows.nth(3)).to_have_text("4needle four")
        self.shot(page, "logs-far-behind")
        far = page.locator(".ln .tx").nth(2)
        expect(far).to_have_text(re.compile("^…x+ needle three x+show all"))
        expect(far.locator("mark")).to_have_text("needle")
        expect(page.locator(".ln .tx").nth(1)).to_have_text(re.compile("^z+ needle two z+show all"))
        far.get_by_role("button", name=re.compile("show all")).click()
        expect(far).to_have_text(re.compile("^x{100000} needle three x{100000}show less"))
        far.get_by_role("button", name="show less").click()
        page.get_by_role("searchbox", name="Search the log").fill("")
        expect(far).to_have_text(re.compile("^x{4000}"))

    # ---- a million

    def test_a_million_lines_cost_as_much_as_a_thousand(self):
        page = self.at(self.a_million())
        self.in_sight(page, MANY)
        self.is_bounded(page)
        expect(self.log.get_by_role("status")).to_contain_text("of 1\u202f000\u202f000 lines")
        page.get_by_role("log").press("Home")
        self.in_sight(page, 1)
        self.is_bounded(page)
        for n in (200, 600, 1500):  # by scrolling beyond the lines read at first
            page.evaluate("""(n) => new Promise((done) => {
                const lines = document.querySelector(".log-lines");
                const step = () => document.querySelector(`.ln[data-n="${n}"]`) ? done() : (lines.scrollTop += 2000, requestAnimationFrame(step));
                step();
            })""", n)
            self.is_bounded(page)
        page.get_by_role("log").press("End")
        self.in_sight(page, MANY)
        self.go_to(page, "654321")
        self.in_sight(page, 654321)
        expect(self.line(page, 654321)).to_have_class(re.compile("chosen"))
        self.is_bounded(page)

    def test_times_lines_and_the_track_lead_anywhere(self):
        page = self.at(self.a_million(), timezone_id="UTC")
        self.go_to(page, "2026-01-05 12:00:01")
        self.in_sight(page, 4 * 86400 + 43201)
        expect(page).to_have_url(re.compile(r"line=388801"))
        self.go_to(page, "13:00")  # on the visible day
        self.in_sight(page, 4 * 86400 + 46800)
        self.go_to(page, "end")
        self.in_sight(page, MANY)
        track = page.get_by_role("slider", name="Position in the log")
        box = track.bounding_box()
        page.mouse.click(box["x"] + 5, box["y"] + box["height"] / 2)
        expect(self.log).to_have_attribute("data-at", re.compile(r"^(49|50)\d{4}$"))
        self.is_bounded(page)
        track.press("PageDown")
        expect(self.log).to_have_attribute("data-at", re.compile(r"^(59|60)\d{4}$"))
        expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
        page.get_by_role("combobox", name="Level").select_option("ERROR")  # ten lines, far apart
        expect(page.locator(".ln")).to_have_count(10)
        self.assertEqual(page.locator(".ln").first.get_attribute("data-n"), "50000")
        for nonsense in ("noon", "25:99", "5.5", "-3", "1" + "0" * 23):
            self.go_to(page, nonsense)
            expect(page.get_by_text(f"'{nonsense}' is not a line number or a time")).to_be_visible()

    def test_a_search_finds_lists_and_steps(self):
        page = self.at(self.a_million(), "?line=1")
        page.get_by_role("searchbox", name="Search the log").fill("BAD thing")
        expect(page.locator(".log-found")).to_have_text("10 hits")
        page.get_by_role("searchbox").press("Enter")
        self.in_sight(page, 50000)
        expect(self.line(page, 50000).locator("mark")).to_have_text("bad thing")
        page.keyboard.press("Escape")  # back to the lines
        page.keyboard.press("n")
        self.in_sight(page, 150000)
        page.keyboard.press("N")
        self.in_sight(page, 50000)
        page.keyboard.press("N")
        expect(page.get_by_text("Search continued from the last line")).to_be_visible()
        self.in_sight(page, 950000)
        page.get_by_role("button", name="List", exact=True).click()
        hits = page.get_by_role("complementary", name="Hits")
        expect(hits.locator(".log-hit")).to_have_count(10)
        hits.get_by_role("button", name="350000").click()
        self.in_sight(page, 350000)
        self.looks(page, "logs-search")
        page.get_by_role("button", name="Match case").click()
        expect(page.locator(".log-found")).to_have_text("0 hits")
        again = self.page_at(page.url.removeprefix(self.testbed.url))
        expect(again.get_by_role("searchbox")).to_have_value("BAD thing")
        self.in_sight(again, 350000)

    def test_expressions_and_more_hits_than_a_list_holds(self):
        page = self.at(self.a_million(), "?line=1&q=epoch+%5B0-9%5D*777+of&regex=1")
        expect(page.locator(".log-found")).to_have_text("1\u202f000 hits")
        page.get_by_role("log").press("n")
        self.in_sight(page, 777)
        page.get_by_role("searchbox").fill("epoch")
        expect(page.locator(".log-found")).to_contain_text("10\u202f000+ hits")
        self.go_to(page, "700000")
        self.in_sight(page, 700000)
        page.keyboard.press("n")
        self.in_sight(page, 700001)
        page.keyboard.press("N")
        page.keyboard.press("N")
        self.in_sight(page, 699999)
        page.get_by_role("searchbox").fill("(")
        expect(page.locator(".log-found")).to_contain_text("has no ')'")
        self.allow("400")

    def test_a_step_waits_for_hits_on_the_other_side(self):
        trial, task = self.unmanaged("hits elsewhere")
        self.post(trial, 1, 1000, 0)
        for query, text, key, hit in (("", "epoch 7 of", "Enter", "7"), ("?line=1", "epoch 993 of", "Shift+Enter", "993")):
            page = self.at(task, query)
            if query:
                page.keyboard.press("Escape")  # clears the selection
            whole = self.held(page, re.compile(r"/search\?.*limit=10000"))
            with page.expect_event("requestfinished", lambda request: re.search("limit=1(&|$)", request.url)):
                page.get_by_role("searchbox").fill(text)
                page.get_by_role("searchbox").press(key)
            self.settled(page)
            self.comes(page, whole).arrive()
            expect(page.locator(".ln.chosen")).to_have_attribute("data-n", hit)
            page.close()

    def test_enter_looks_for_what_is_in_the_box(self):
        trial, task = self.unmanaged("typed fast")
        self.post(trial, 1, 100, 0)
        page = self.at(task, "?q=epoch+7+of")
        expect(page.locator(".log-found")).to_have_text("1 hit")
        page.get_by_role("searchbox").fill("epoch 9 of")
        page.get_by_role("searchbox").press("Enter")
        expect(page.locator(".ln.chosen")).to_have_attribute("data-n", "9")

    # ---- new lines

    def test_lines_that_come_while_others_are_read_are_read_and_searched_too(self):
        trial, task = self.unmanaged("in parts")
        end = self.post(trial, 1, 3, 0)
        page = self.listening(f"/det/logs/{task}?q=epoch")
        expect(page.locator(".log-found")).to_have_text("3 hits")
        held = [self.held(page, re.compile(f"/{what}\\?.*from=4(&|$)")) for what in ("lines", "search")]
        end = self.post(trial, 4, 2, end)
        answers = [self.comes(page, one) for one in held]
        heard = page.evaluate("heard")
        self.post(trial, 6, 2, end)
        page.wait_for_function("(before) => heard > before", arg=heard)
        self.settled(page)
        for answer in answers:
            answer.arrive()
        self.in_sight(page, 7)
        expect(page.locator(".log-found")).to_have_text("7 hits")

    def test_a_search_in_a_log_without_lines_goes_on_when_they_come(self):
        trial, task = self.unmanaged("nothing yet")
        page = self.at(task, "?q=epoch")
        expect(page.locator(".log-found")).to_have_text("0 hits")
        self.post(trial, 1, 3, 0)
        expect(page.locator(".log-found")).to_have_text("3 hits")

    def test_a_search_that_breaks_off_goes_on_with_the_next_lines(self):
        self.allow("Failed to load resource")
        trial, task = self.unmanaged("breaks off")
        end = self.post(trial, 1, 3, 0)
        page = self.at(task, "?q=epoch")
        expect(page.locator(".log-found")).to_have_text("3 hits")
        page.route(re.compile(r"/search\?.*from=4(&|$)"), lambda route: route.abort(), times=1)
        with page.expect_event("requestfailed", lambda request: "/search" in request.url):
            end = self.post(trial, 4, 2, end)
        self.post(trial, 6, 2, end)
        expect(page.locator(".log-found")).to_have_text("7 hits")

    def test_new_lines_are_followed_or_counted(self):
        first, second = self.testbed.hold("log-1"), self.testbed.hold("log-2")
        experiment = self.testbed.create("tail", TAIL.replace('"$1"', f"'{first}'").replace('"$2"', f"'{second}'"))
        self.testbed.wait(experiment, "RUNNING", "ACTIVE")
        page = self.at(self.task_of(experiment))
        expect(page.get_by_text("ready to go")).to_be_visible()
        page.get_by_role("searchbox").fill("LATER")
        expect(page.locator(".log-found")).to_have_text("0 hits")
        page.get_by_role("searchbox").press("Escape")
        self.testbed.release("log-1")
        expect(self.log.get_by_text("later line 30")).to_be_in_viewport()
        expect(page.locator(".log-found")).to_have_text("30 hits")  # new lines are searched, too
        page.keyboard.press("f")
        expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
        self.testbed.release("log-2")
        fresh = page.get_by_role("button", name=re.compile(r"^[12] new lines?$"))
        expect(fresh).to_be_visible()
        fresh.click()
        expect(page.get_by_text("the very last line")).to_be_in_viewport()
        expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")

    # ---- selection and keyboard

    def test_lines_are_selected_shared_and_copied(self):
        page = self.at(self.task_of("ranks"), permissions=["clipboard-read", "clipboard-write"])
        page.get_by_role("log").press("Home")
        self.in_sight(page, 14)
        self.line(page, 14).locator(".no").click()
        self.line(page, 16).locator(".no").click(modifiers=["Shift"])
        self.assertIn("line=14-16", page.url)
        expect(page.locator(".ln.chosen")).to_have_count(3)
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_text("Selected lines copied.")).to_be_visible()
        self.assertEqual(page.evaluate("navigator.clipboard.readText()").count("\n"), 2)
        again = self.page_at(page.url.removeprefix(self.testbed.url))
        expect(again.locator(".ln.chosen")).to_have_count(3)
        self.in_sight(again, 15)
        again.keyboard.press("Escape")
        expect(again.locator(".ln.chosen")).to_have_count(0)

    def test_the_keyboard_does_everything(self):
        page = self.at(self.task_of("ranks"))
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("doubtful")
        page.keyboard.press("Enter")
        expect(page.locator(".ln.chosen .tx")).to_have_text("a doubtful thing")
        page.keyboard.press("Escape")
        expect(page.get_by_role("log")).to_be_focused()
        page.keyboard.press("Home")
        self.in_sight(page, 1)
        page.keyboard.press("PageDown")
        expect(self.line(page, 1)).not_to_be_in_viewport()
        page.keyboard.press("w")
        expect(page.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("End")
        expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")
        self.keyboard_reaches(page, "select")
        self.keyboard_reaches(page, ".log-goto")
        self.keyboard_reaches(page, ".log-lines")
        self.keyboard_reaches(page, ".log-track")

    def test_an_unknown_task_says_so(self):
        page = self.page_at("/det/logs/9.nothing", wait=False)
        expect(page.get_by_role("alert")).to_contain_text("task '9.nothing' not found", ignore_case=True)
        self.allow("404")

    def test_a_job_has_logs_too(self):
        page = self.at(self.testbed.job)
        expect(page.get_by_text("a job complains")).to_be_visible()
