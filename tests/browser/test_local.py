# SPDX-License-Identifier: Apache-2.0
"""Local runs in the same pages (det ui): live, without signing in, and read-only."""
import os
import shutil
import signal
import subprocess
import tempfile

import harness
from harness import BrowserTest, expect
from testbed import until

E2E = os.path.join(os.path.dirname(harness.HERE), "e2e")
INCLUDE = os.path.join(os.path.dirname(os.path.dirname(harness.HERE)), "include")
# labels of controls that change or start something
CHANGES = (r"^(Pause|Activate|Cancel|Kill|Archive|Unarchive|Delete|Fork|Continue|Edit|Rename|Add label|Save|New experiment|New job|Create|"
           r"TensorBoard|Open in TensorBoard|Actions|Sign out|Change password)\b")


class Shown:
    """A folder of runs and the command that shows it, with the attributes of a Testbed that the harness uses."""

    token = ""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="det-local.")
        self.program = program
        build = os.path.dirname(program)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("DET_", "DISPLAY", "WAYLAND"))}
        self.env.update(HOME=self.folder + "/home", XDG_DATA_HOME=self.folder + "/home/data", PATH=build + os.pathsep + os.environ["PATH"])
        self.train = self.folder + "/train"
        subprocess.run(["cc", "-O1", "-I" + INCLUDE, "-o", self.train, E2E + "/offline.c", "-L" + build, "-ldet", "-lm",
                        "-Wl,-rpath," + build], check=True)
        self.run("first")
        self.run("broken", "fail")
        with open(self.folder + "/ui.out", "w") as out:
            self.ui = subprocess.Popen([program, "ui", "--no-browser", self.folder + "/runs"], env=self.env, stdout=out)
        until(lambda: self.address(), "det ui prints its address")
        self.url = self.address()

    def address(self):
        with open(self.folder + "/ui.out") as file:
            return file.read().strip().removesuffix("/det/")

    def begin(self, name, *how):
        return subprocess.Popen([self.train, *how], env={**self.env, "DET_OFFLINE_DIR": f"{self.folder}/runs/{name}"},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, name, *how):
        self.begin(name, *how).wait()

    def close(self):
        self.ui.send_signal(signal.SIGINT)
        code = self.ui.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


class Local(BrowserTest):
    shown = None

    @classmethod
    def setUpClass(cls):
        cls.shown = Shown(harness.fixture.testbed.program)

    @classmethod
    def tearDownClass(cls):
        code = cls.shown.close()
        if code:
            raise AssertionError(f"det ui ended with {code}")

    def setUp(self):
        super().setUp()
        self.testbed = self.shown

    def at(self, address, **options):
        return self.page_at(address, signed_in=False, **options)

    def nothing_changes(self, page):
        """Checks that no visible control changes or starts something."""
        seen = page.evaluate("""(pattern) => [...document.querySelectorAll("main :is(button, a, [role=menuitem], input[type=submit])")]
            .filter((node) => node.checkVisibility() && new RegExp(pattern, "i").test(node.getAttribute("aria-label") || node.textContent.trim()))
            .map((node) => node.textContent || node.getAttribute("aria-label"))""", CHANGES)
        self.assertEqual(seen, [], page.url)

    def test_runs_are_listed_without_signing_in(self):
        page = self.at("/det/experiments")
        expect(page.get_by_role("row", name="first")).to_contain_text("COMPLETED")
        expect(page.get_by_role("row", name="broken")).to_contain_text("ERROR")
        expect(page.get_by_role("banner")).to_contain_text("read-only")
        expect(page.get_by_role("navigation", name="Main").get_by_role("link")).to_have_text(["Home", "Experiments"])
        self.looks(page, "local-experiments")
        self.nothing_changes(page)

    def test_a_run_that_failed_says_so(self):
        page = self.at("/det/experiments")
        page.get_by_role("link", name="broken").click()
        why = page.get_by_role("region", name="Why it failed")
        expect(why).to_contain_text("It ended with an error.")
        why.get_by_role("link", name="Open the log of trial").click()
        expect(page.locator(".tabs [aria-current]")).to_contain_text("Logs")

    def test_the_first_page_shows_the_runs_and_nothing_of_a_cluster(self):
        page = self.at("/det/")
        expect(page.get_by_role("row", name="first")).to_contain_text("COMPLETED")
        expect(page.get_by_role("heading", name="Cluster")).to_have_count(0)
        self.looks(page, "local-home")
        self.nothing_changes(page)

    def test_a_cookie_of_another_master_does_no_harm(self):
        context = self.context(signed_in=True, token="s1.0123456789abcdef")
        page = context.new_page()
        page.goto(self.testbed.url + "/det/")
        self.filled(page)
        expect(page.get_by_role("link", name="first").first).to_be_visible()
        self.nothing_changes(page)
        self.assertEqual([cookie["value"] for cookie in context.cookies()], ["s1.0123456789abcdef"])

    def test_every_page_of_a_run_is_read_only(self):
        page = self.at("/det/experiments/1")
        for address in ("/experiments/1/notes", "/experiments/1/logs", "/trials/1", "/trials/1/checkpoints", "/settings", "/experiments/new"):
            self.nothing_changes(page)
            page.goto(self.testbed.url + "/det" + address)
            self.filled(page)
        self.nothing_changes(page)
        expect(page.get_by_role("main")).to_contain_text("Nothing can be created here")

    def test_without_a_metric_no_trial_is_the_best(self):
        page = self.at("/det/experiments/1")
        expect(page.locator("figure.chart").first).to_be_visible()
        self.shot(page, "local-overview")
        expect(page.get_by_role("main")).not_to_contain_text("Best")

    def test_metrics_logs_and_the_end_are_followed_live(self):
        page = self.at("/det/experiments")
        go = self.shown.folder + "/go"
        run = self.shown.begin("live", "wait", go)
        row = page.get_by_role("row", name="live")
        expect(row).to_contain_text("RUNNING")  # without a reload
        row.get_by_role("link").first.click()
        self.filled(page)
        expect(page.get_by_role("main")).to_contain_text("RUNNING")
        open(go, "w").close()
        run.wait()
        expect(page.get_by_role("main")).to_contain_text("COMPLETED")
        self.shot(page, "local-experiment")
        trial = int(page.url.rstrip("/").rsplit("/", 1)[1])
        page.goto(f"{self.testbed.url}/det/trials/{trial}/logs")
        expect(page.get_by_text("goes on", exact=True)).to_be_visible()
