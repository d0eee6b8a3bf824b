# SPDX-License-Identifier: Apache-2.0
"""The page of one trial."""
import re
import tarfile

from harness import BrowserTest, expect
from testbed import until

RESTARTED = r"""#!/bin/sh
step=${DET_STEPS_COMPLETED:-0}
while [ "$step" -lt 10 ]; do
    step=$((step + 1))
    det report --steps $step loss=$((20 - step))
    [ $step != 4 ] || { mkdir -p m; echo weights >m/weights; det checkpoint save --steps 4 --wait m; }
    [ $step != 7 ] || [ "$DET_TRIAL_RUN_ID" != 1 ] || exit 9
done
det report --steps 10 --validation loss=3
"""
LIVE = r"""#!/bin/sh
det report --steps 1 --progress 0.1 loss=2
until [ -e "%s" ]; do sleep 0.05; done
det report --steps 5 loss=1.5
det report --steps 5 --validation loss=1.25
until [ -e "%s" ]; do sleep 0.05; done
"""
PROFILED = r"""#!/usr/bin/env python3
import json, os, urllib.request
trial = os.environ["DET_TRIAL_ID"]
for group, value in (("timing", {"seconds": 10, "data": {"seconds": 7, "count": 100}, "step": {"seconds": 2.5, "count": 100}}),
                     ("cpu", {"cpu_util_simple": 12.5}), ("memory", {"memory_free": 5e9})) * 3:
    body = {"metrics": {"trialId": int(trial), "trialRunId": int(os.environ["DET_TRIAL_RUN_ID"]), "metrics": {"avgMetrics": {"node1": value}}}, "group": group}
    call = urllib.request.Request(os.environ["DET_MASTER"] + f"/api/v1/trials/{trial}/metrics", json.dumps(body).encode(),
                                  {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}, method="POST")
    urllib.request.urlopen(call).read()
"""


class Trial(BrowserTest):
    def make(self, name, script, config=None):
        made = self.testbed.create(name, script, config)
        self.testbed.wait(made)
        return self.testbed.trials(made)[0]

    def tile(self, page, name):
        return page.locator(".tile", has=page.get_by_text(name, exact=True)).locator(".tile-value")

    def test_the_head_and_the_overview_of_a_trial(self):
        trial = self.testbed.trials("search")[0]
        page = self.page_at(f"/det/trials/{trial}")
        expect(page.get_by_role("heading", name=f"Trial {trial}")).to_be_visible()
        expect(page).to_have_title(re.compile(f"Trial {trial} · search"))
        expect(page.locator(".badge").first).to_have_text("COMPLETED")
        expect(self.tile(page, "Steps")).to_have_text("800")
        expect(page.locator("figure.chart[data-drawn]")).to_have_count(4)
        expect(page.get_by_text("Run 1")).to_be_visible()
        self.looks(page, "trial-overview")
        page.get_by_role("link", name=f"Experiment {self.testbed.ids['search']}").click()
        expect(page).to_have_url(re.compile(f"/det/experiments/{self.testbed.ids['search']}$"))

    def test_the_address_below_its_experiment_is_the_same_page(self):
        trial = self.testbed.trials("search")[0]
        page = self.page_at(f"/det/experiments/{self.testbed.ids['search']}/trials/{trial}/hyperparameters")
        expect(page.get_by_role("rowheader", name="lr", exact=True)).to_be_visible()
        expect(page.get_by_text(re.compile(r"0\.01 … 1, logarithmic"))).to_be_visible()
        page.get_by_role("link", name="Metrics").click()
        expect(page).to_have_url(re.compile(f"/det/experiments/.*/trials/{trial}/metrics$"))
        expect(page.locator("figure.chart[data-drawn]").first).to_be_visible()
        self.looks(page, "trial-metrics")

    def test_metrics_arrive_while_it_trains(self):
        go, end = self.testbed.hold("trial-live"), self.testbed.hold("trial-live-end")
        made = self.testbed.create("live", LIVE % (go, end))
        self.testbed.wait(made, "RUNNING")
        trial = self.testbed.trials(made)[0]
        page = self.page_at(f"/det/trials/{trial}/metrics")
        figure = page.locator("figure.chart").first
        expect(figure.locator(".chart-now")).to_have_text("2")
        self.testbed.release("trial-live")
        page.wait_for_function("() => [...document.querySelectorAll('figure.chart')].some((f) => f.chart.data()?.x.at(-1) === 5)")
        expect(page.get_by_role("heading", name="validation")).to_be_visible()  # a new group
        expect(self.tile(page, "Steps")).to_have_text("5")
        self.testbed.release("trial-live-end")
        expect(page.locator(".trial-head .badge").first).to_have_text("COMPLETED")

    def test_a_report_during_the_loading_of_the_page_is_shown(self):
        go, end = self.testbed.hold("trial-early"), self.testbed.hold("trial-early-end")
        made = self.testbed.create("early", f"#!/bin/sh\nuntil [ -e {go} ]; do sleep 0.05; done\ndet report --steps 1 loss=1\nuntil [ -e {end} ]; do sleep 0.05; done\n")
        self.testbed.wait(made, "RUNNING")
        address = f"/det/trials/{self.testbed.trials(made)[0]}/metrics"
        other = self.page_at(address)
        page = self.context().new_page()
        names = self.held(page, "**/metric-names*")
        page.goto(self.testbed.url + address)
        none = self.comes(page, names)
        self.testbed.release("trial-early")
        expect(other.locator("figure.chart")).to_have_count(1)
        none.arrive()
        self.filled(page)
        expect(page.locator("figure.chart")).to_have_count(1)
        self.testbed.release("trial-early-end")

    def test_a_trial_that_was_restarted_shows_what_was_lost(self):
        trial = self.make("restarted", RESTARTED, {"max_restarts": 2})
        page = self.page_at(f"/det/trials/{trial}/metrics")
        loss = page.locator("section[aria-label='training metrics'] figure.chart").first
        expect(loss.get_by_text("steps lost at a restart and repeated")).to_be_visible()
        self.assertEqual(loss.evaluate("(node) => node.chart.data().lines.map((line) => line.archived)"), [False, True])
        page.get_by_role("button", name="lost steps").click()
        expect(page).to_have_url(re.compile("lost=0"))
        page.wait_for_function("(node) => node.chart.data().lines.length === 1", arg=loss.element_handle())
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_text("steps 5 to 7 were lost and repeated")).to_be_visible()
        expect(page.get_by_text("exited with code 9")).to_be_visible()
        self.looks(page, "trial-restarted")

    def test_the_profiler_says_why_time_was_lost(self):
        trial = self.make("profiled", PROFILED)
        page = self.page_at(f"/det/trials/{trial}/profiler")
        expect(page.get_by_text("70 % of the time went into waiting for data: let more workers load it, or load it ahead.")).to_be_visible()
        expect(page.get_by_role("rowheader", name="waiting for data")).to_be_visible()
        expect(page.locator("figure.chart[data-drawn]")).to_have_count(3)
        self.looks(page, "trial-profiler")
        self.assertIn("70 % of the time went into waiting for data", self.testbed.det("trial", "profile", str(trial)))  # the same rule

    def test_the_load_of_the_machine_needs_no_configuration(self):
        made = self.testbed.create("unprofiled", f"#!/bin/sh\nwhile [ ! -e {self.testbed.hold(self.id())} ]; do sleep 0.05; done\n")
        self.addCleanup(self.testbed.wait, made)
        self.addCleanup(self.testbed.release, self.id())
        until(lambda: self.testbed.trials(made), "its trial")
        trial = self.testbed.trials(made)[0]
        until(lambda: self.testbed.api("GET", f"/api/v1/det/trials/{trial}/load")["loads"], "the first load")
        page = self.page_at(f"/det/trials/{trial}/profiler")
        expect(page.locator("figure.chart[data-drawn]").filter(has_text="Processors, %")).to_be_visible()
        expect(page.locator("figure.chart[data-drawn]").filter(has_text="Memory, free bytes")).to_be_visible()
        expect(page.get_by_text("profiling: {enabled: true}")).to_be_visible()  # for timings
        self.looks(page, "trial-load")
        page.get_by_role("link", name="Metrics").click()
        expect(page.get_by_text("cpu_util_simple")).to_have_count(0)

    def test_a_configuration_that_turns_measuring_off_is_named(self):
        trial = self.make("unmeasured", "#!/bin/sh\nsleep 3\n", {"profiling": {"enabled": False}})
        page = self.page_at(f"/det/trials/{trial}/profiler")
        expect(page.get_by_text("turns measuring off")).to_be_visible()

    def test_a_checkpoint_is_shown_and_downloaded(self):
        trial = self.testbed.trials("search")[0]
        page = self.page_at(f"/det/trials/{trial}/checkpoints")
        self.looks(page, "trial-checkpoints")
        page.get_by_role("button", name=re.compile("Show checkpoint")).click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text("weights.txt", exact=True)).to_be_visible()
        expect(page).to_have_url(re.compile("checkpoint=[0-9a-f-]{36}"))
        with page.expect_download() as saved:
            dialog.get_by_role("link", name=re.compile("as tar.gz")).click()
        with tarfile.open(saved.value.path()) as archive:
            text = archive.extractfile("weights.txt").read().decode()
        self.assertTrue(text.startswith("weights of "), text)
        address = page.url.removeprefix(self.testbed.url)
        page.keyboard.press("Escape")
        expect(page).not_to_have_url(re.compile("checkpoint="))
        again = self.page_at(address)  # the address includes the open checkpoint
        expect(again.get_by_role("dialog").get_by_text("weights.txt")).to_be_visible()

    def test_a_running_trial_is_killed(self):
        never = self.testbed.hold("trial-never")
        made = self.testbed.create("to be killed", LIVE % (never, never))
        self.testbed.wait(made, "RUNNING")
        page = self.page_at(f"/det/trials/{self.testbed.trials(made)[0]}")
        page.get_by_role("button", name="Kill").click()
        page.get_by_role("dialog").get_by_role("button", name="Kill").click()
        expect(page.locator(".trial-head .badge").first).to_have_text(re.compile("CANCELED"))
        expect(page.get_by_role("button", name="Kill")).to_have_count(0)

    def test_a_deletion_in_a_second_tab_is_reported(self):
        self.allow("404")  # a call that was pending
        made = self.testbed.create("to be deleted", "#!/bin/sh\ndet report --steps 1 loss=1\n")
        self.testbed.wait(made)
        page = self.page_at(f"/det/trials/{self.testbed.trials(made)[0]}/metrics")
        self.testbed.api("DELETE", f"/api/v1/experiments/{made}")
        expect(page.get_by_text(f"Experiment {made} was deleted, and this trial with it.")).to_be_visible()

    def test_a_trial_deleted_before_its_experiment_is_not_an_error(self):
        self.allow("404")
        trial = self.make("goes first", "#!/bin/sh\ndet report --steps 1 loss=1\n")
        page = self.page_at(f"/det/trials/{trial}/metrics")
        experiment = self.testbed.api("GET", f"/api/v1/trials/{trial}")["trial"]["experimentId"]
        page.route(f"**/api/v1/trials/{trial}", lambda route: route.fulfill(status=404, json={"error": {"error": "no such trial"}}))
        self.testbed.api("PATCH", f"/api/v1/experiments/{experiment}", {"description": "on its way out"})
        expect(page.get_by_text(f"Experiment {experiment} was deleted, and this trial with it.")).to_be_visible()
        expect(page.locator(".toast")).to_have_count(0)

    def test_logs_are_one_of_its_views(self):
        page = self.page_at(f"/det/trials/{self.testbed.trials('ranks')[0]}/logs")
        expect(page.get_by_text("line 400 of many")).to_be_visible()

    def test_a_fork_from_the_list_of_checkpoints_leaves_no_dialog_behind(self):
        trial = self.testbed.trials("search")[0]
        page = self.page_at(f"/det/trials/{trial}/checkpoints")
        page.get_by_role("button", name=re.compile("Show checkpoint")).click()
        page.get_by_role("button", name="Fork from here").click()
        page.get_by_label("Start immediately").uncheck()
        page.get_by_role("button", name="Create").click()
        expect(page).to_have_url(re.compile(r"/det/experiments/\d+$"))
        expect(page.get_by_role("dialog")).to_have_count(0)

    def test_a_fork_begins_with_its_checkpoint(self):
        page = self.page_at(f"/det/trials/{self.testbed.trials('search')[0]}")
        page.get_by_role("button", name="Fork or continue").click()
        page.get_by_role("menuitem", name="Fork from the best checkpoint").click()
        text = page.get_by_role("dialog").get_by_role("textbox")
        expect(text).to_have_value(re.compile("source_checkpoint_uuid: .*[0-9a-f-]{36}"))
        self.assertNotIn("profiling", text.input_value())  # written down, its default would turn the load off

    def test_names_with_markup_are_text(self):
        page = self.page_at(f"/det/trials/{self.testbed.trials('markup')[0]}/metrics")
        expect(page.get_by_role("heading", name="<b>loss</b>")).to_be_visible()
        page.get_by_role("link", name="Hyperparameters").click()
        expect(page.get_by_role("rowheader", name="<i>lr</i>")).to_be_visible()

    def test_a_trial_that_is_not_there_says_so(self):
        self.allow("404")
        page = self.page_at("/det/trials/987654", wait=False)
        expect(page.get_by_role("alert")).to_contain_text("987654")
        page.goto(self.testbed.url + "/det/trials/-1")
        expect(page.get_by_role("alert")).to_contain_text("Not found. There is no trial '-1'")

    def test_the_keyboard_reaches_everything(self):
        page = self.page_at(f"/det/trials/{self.testbed.trials('search')[0]}/metrics")
        expect(page.locator("figure.chart[data-drawn]").first).to_be_visible()
        for selector in (".tabs a", "input[type=search]", "input[type=range]", "[aria-label='Horizontal axis']", ".chart-plot"):
            self.keyboard_reaches(page, selector)
