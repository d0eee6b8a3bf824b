# SPDX-License-Identifier: Apache-2.0
"""The table of experiments: search, filters, actions, live changes, and many rows."""
import json
import re

import harness
from many_experiments import ManyExperiments
from harness import BrowserTest, expect
from testbed import MARKUP, until

WAITS = "#!/bin/sh\nwhile [ ! -e {0} ]; do sleep 0.1; done\n"
REPORTS = """#!/bin/sh
det report --steps 1 --progress 0.25 --validation loss=0.75
while [ ! -e {0} ]; do sleep 0.1; done
det report --steps 2 --progress 0.5 --validation loss=0.125
while [ ! -e {1} ]; do sleep 0.1; done
"""
COUNT = 30000


def rows(page):
    return page.locator("tbody tr")


def row(page, id_):
    return page.locator(f'tbody tr[data-key="{id_}"]')


def ids(page):
    return page.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => Number(row.dataset.key))")


DEAF = """
window.EventSource = class extends EventSource {
    constructor(...all) {
        super(...all);
        window.stream = this;
        this.addEventListener("changes", (event) => window.isDeaf && event.stopImmediatePropagation());
    }
};"""


class Experiments(BrowserTest):
    def make(self, *names):
        """Creates paused experiments without files, one call each."""
        config = {"entrypoint": "true", "searcher": {"name": "single", "metric": "loss"}}
        return [self.testbed.api("POST", "/api/v1/experiments", {"config": json.dumps({**config, "name": name})})["experiment"]["id"]
                for name in names]

    def state(self, id_):
        return self.testbed.experiment(id_)["state"].removeprefix("STATE_")

    def select(self, page, *which):
        for id_ in which:
            row(page, id_).get_by_role("checkbox").check()

    def act(self, page, name, confirm=True):
        """Presses a button of the bar, or an entry of its menu, and confirms."""
        bar = page.get_by_role("region", name="Selected experiments")
        if bar.get_by_role("button", name=name, exact=True).count():
            bar.get_by_role("button", name=name, exact=True).click()
        else:
            bar.get_by_role("button", name="More").click()
            page.get_by_role("menuitem", name=name, exact=True).click()
        if confirm:
            page.get_by_role("dialog").get_by_role("button", name=re.compile(f"^{name} ")).click()

    # ---- display

    def test_the_table_shows_real_experiments(self):
        page = self.page_at("/det/experiments?sort=id")
        search = row(page, self.testbed.ids["search"])
        expect(search.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "100")
        expect(search).to_contain_text("COMPLETED")
        expect(search).to_contain_text("nightly")
        expect(row(page, self.testbed.ids["failed"])).to_contain_text("ERROR")
        expect(row(page, self.testbed.ids["paused"])).to_contain_text("PAUSED")
        row(page, self.testbed.ids["search"]).get_by_role("checkbox").check()
        row(page, self.testbed.ids["paused"]).get_by_role("checkbox").check()
        self.looks(page, "experiments")

    def test_names_are_text_whatever_stands_in_them(self):
        page = self.page_at("/det/experiments?sort=id&size=200&columns=id,name,description,labels,state")
        marked = row(page, self.testbed.ids["markup"])
        expect(marked).to_contain_text(MARKUP[:40])
        self.assertEqual(page.locator("main img, main script").count(), 0)
        id_ = self.make("long")[0]
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"description": "<b>x</b> " * 1250, "name": "n" * 500, "labels": [MARKUP]})
        expect(row(page, id_)).to_contain_text("nnnn")
        expect(row(page, id_)).to_contain_text("<b>x</b> <b>x</b>")
        self.assertLess(len(row(page, id_).inner_text()), 2000)
        self.fits(page)

    def test_search_finds_id_name_description_and_label_and_the_address_keeps_it(self):
        one, two = self.make("Quagga one", "other")
        self.testbed.api("PATCH", f"/api/v1/experiments/{two}", {"description": "of the quagga kind", "labels": ["zebra-like"]})
        page = self.page_at("/det/experiments")
        page.keyboard.press("/")
        page.keyboard.type("QUAGGA")
        expect(rows(page)).to_have_count(2)
        expect(page).to_have_url(re.compile(r"search=QUAGGA"))
        page.get_by_role("searchbox").fill("zebra-L")
        expect(rows(page)).to_have_count(1)
        expect(row(page, two)).to_be_visible()
        page.get_by_role("searchbox").fill("nothing has this <b>")
        expect(page.get_by_text("No experiments match")).to_be_visible()
        self.contrast(page)
        page.locator(".empty").get_by_role("button", name="Clear filters").click()
        expect(row(page, one)).to_be_visible()
        page.reload()
        self.filled(page)
        expect(page.get_by_role("searchbox")).to_have_value("")
        page.goto(self.testbed.url + f"/det/experiments?search={one}&sort=name")
        self.filled(page)
        expect(page.get_by_role("searchbox")).to_have_value(str(one))
        expect(row(page, one)).to_be_visible()
        expect(page.locator("th[aria-sort=ascending]")).to_have_text(re.compile("Name"))

    # ---- hyperparameters, metrics, queries and groups

    def runs(self, name, *runs):
        """One finished experiment per (hyperparameters, metrics)."""
        made = []
        for hparams, metrics in runs:
            report = " ".join(f"{key}={value}" for key, value in metrics.items())
            made.append(self.testbed.create(name, f"#!/bin/sh\ndet report --steps 1 --validation {report}\n", config={"hyperparameters": hparams}))
        for id_ in made:
            until(lambda: self.state(id_) == "COMPLETED", f"experiment {id_} has ended")
        return made

    def enter_query(self, page, text):
        page.get_by_role("combobox", name="Query experiments").fill(text)
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")

    def test_hyperparameters_and_metrics_are_columns(self):
        small, large = self.runs("as-columns", ({"rate": 0.25, "kind": "a<b>"}, {"loss": 0.5, "hits": 7}), ({"rate": 0.125, "kind": "z"}, {"loss": 0.75}))
        page = self.page_at("/det/experiments?search=as-columns")
        page.get_by_role("button", name="Columns", exact=True).click()
        for name in ("hp.rate", "hp.kind", "validation.hits"):
            page.get_by_role("checkbox", name=re.compile(name)).check()
        page.keyboard.press("Escape")
        expect(row(page, small)).to_contain_text("0.25")
        expect(row(page, small)).to_contain_text("a<b>")
        expect(row(page, small)).to_contain_text("7")
        expect(page).to_have_url(re.compile(r"columns=.*hp\.rate"))
        page.get_by_role("button", name="rate").click()
        expect(page).to_have_url(re.compile(r"sort=hp\.rate"))
        expect(rows(page).first).to_have_attribute("data-key", str(large))
        page.get_by_role("button", name="rate").click()
        expect(rows(page).first).to_have_attribute("data-key", str(small))
        page.reload()
        self.filled(page)
        expect(page.locator("th[aria-sort=descending]")).to_have_text(re.compile("rate"))
        self.looks(page, "experiments-columns")
        page.evaluate("localStorage.clear()")

    def test_a_query_filters_and_explains_its_mistakes(self):
        small, large = self.runs("queried", ({"pace": 0.25}, {"loss": 0.5, "gain": 3}), ({"pace": 0.125}, {"loss": 0.75, "gain": 4}))
        self.allow(r"status of 400 .*query=")
        page = self.page_at("/det/experiments?search=queried")
        self.enter_query(page, "pace < 0.2 and gain >= 4")
        expect(rows(page)).to_have_count(1)
        expect(row(page, large)).to_be_visible()
        expect(page).to_have_url(re.compile("query=pace"))
        self.enter_query(page, "pace < 0.2 and gian >= 4")
        problem = page.get_by_role("alert")
        expect(problem).to_have_text("Column 'gian' at character 16: there is no such column; did you mean 'gain'?")
        line = page.get_by_role("combobox", name="Query experiments")
        expect(line).to_have_attribute("aria-invalid", "true")
        self.looks(page, "experiments-query")
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("character 16")
        self.enter_query(page, "")
        expect(rows(page)).to_have_count(2)
        expect(page.get_by_role("alert")).to_have_count(0)

    def test_a_query_is_completed_by_keyboard(self):
        (one,) = self.runs("completed", ({"tempo": 0.5, "gear": "fourth wheel"}, {"loss": 0.5}))
        page = self.page_at("/det/experiments?search=completed")
        line = page.get_by_role("combobox", name="Query experiments")
        line.focus()
        page.keyboard.type("gea")
        option = page.get_by_role("option", name=re.compile("^gear"))
        expect(option).to_be_visible()
        self.shot(page, "experiments-completion")
        expect(line).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("ArrowDown")
        expect(option).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Tab")
        expect(line).to_have_value("gear ")
        expect(page.get_by_role("option", name=re.compile("^:")).first).to_be_visible()
        page.keyboard.type("= fou")
        value = page.get_by_role("option", name="fourth wheel")
        expect(value).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(value).to_have_attribute("aria-selected", "true")
        self.contrast(page)
        page.keyboard.press("Enter")
        expect(line).to_have_value('gear = "fourth wheel" ')
        page.keyboard.type("an")
        expect(page.get_by_role("option", name="and")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".query-list")).to_be_hidden()
        page.keyboard.type("d tempo=.5")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("query=gear"))
        expect(row(page, one)).to_be_visible()

    def test_a_view_is_saved_for_the_user_and_comes_back(self):
        self.runs("viewed", ({"slope": 0.5}, {"loss": 0.5}))
        page = self.page_at("/det/experiments?query=slope%20%3D%200.5&sort=-hp.slope&columns=id,name,hp.slope")
        page.get_by_role("button", name="Views").click()
        page.get_by_role("menuitem", name="Save this view").click()
        page.get_by_role("dialog").get_by_label("Name").fill("My <slopes>")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.get_by_text("View “My <slopes>” saved.")).to_be_visible()
        page.goto(self.testbed.url + "/det/experiments")
        self.filled(page)
        page.get_by_role("button", name="Views").click()
        page.get_by_role("menuitem", name="My <slopes>", exact=True).click()
        expect(page.get_by_role("combobox", name="Query experiments")).to_have_value("slope = 0.5")
        expect(page.locator("th[aria-sort=descending]")).to_have_text(re.compile("slope"))
        expect(page).to_have_url(re.compile(r"columns=id%2Cname%2Chp\.slope|columns=id,name,hp\.slope"))
        page.get_by_role("button", name="Views").click()
        page.get_by_role("menuitem", name="Delete “My <slopes>”").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete view").click()
        expect(page.get_by_text("View “My <slopes>” deleted.")).to_be_visible()
        self.assertEqual([one for one in self.testbed.api("GET", "/api/v1/users/setting")["settings"] if "views" in one["storagePath"]], [])

    def test_seeds_collapse_into_groups_with_mean_and_band(self):
        one, two, other = self.runs("grouped", ({"width": 8, "seed": 1}, {"loss": 0.25}), ({"width": 8, "seed": 2}, {"loss": 0.75}), ({"width": 16, "seed": 1}, {"loss": 2}))
        page = self.page_at("/det/experiments?search=grouped&columns=id,name,bestMetric,validation.loss")
        page.get_by_role("button", name="Group", exact=True).click()
        page.get_by_role("checkbox", name=re.compile("hp.width")).check()
        page.keyboard.press("Escape")
        groups = page.get_by_role("region", name="Groups of experiments")
        expect(groups.locator("tbody tr")).to_have_count(2)
        first = groups.locator("tbody tr").first
        expect(first).to_contain_text("8")
        expect(first).to_contain_text("0.5 ± 0.354")
        expect(first).to_contain_text("0.25 … 0.75")
        expect(page.get_by_text("1–2 of 2 groups of 3 experiments")).to_be_visible()
        groups.get_by_role("button", name="loss").click()
        groups.get_by_role("button", name="loss").click()
        expect(groups.locator("tbody tr").first).to_contain_text("16")
        expect(page).to_have_url(re.compile(r"by=hp\.width"))
        self.looks(page, "experiments-groups")
        groups.get_by_role("button", name="8", exact=True).click()
        expect(page.get_by_role("combobox", name="Query experiments")).to_have_value("hp.width = 8")
        expect(rows(page)).to_have_count(2)
        expect(row(page, one)).to_be_visible()
        expect(row(page, two)).to_be_visible()
        expect(row(page, other)).to_have_count(0)

    def test_charts_of_the_selection_are_beside_the_table(self):
        one, two = self.runs("beside", ({"grade": 1}, {"loss": 0.5}), ({"grade": 2}, {"loss": 0.75}))
        page = self.page_at("/det/experiments?search=beside")
        self.select(page, one, two)
        page.get_by_role("button", name="Charts", exact=True).click()
        pane = page.get_by_role("complementary", name="Charts of the selected experiments")
        expect(pane.locator("[data-metric='validation.loss'] canvas").first).to_be_visible()
        expect(pane.get_by_role("row", name=re.compile("grade"))).to_be_visible()
        expect(page.get_by_role("button", name="Charts", exact=True)).to_have_attribute("aria-pressed", "true")
        self.looks(page, "experiments-pane")
        pane.get_by_role("button", name="log y").click()
        pane.get_by_label("Only differences").uncheck()
        row(page, two).get_by_role("checkbox").uncheck()
        expect(pane.get_by_role("columnheader", name=re.compile("beside"))).to_have_count(1)
        expect(pane.get_by_role("button", name="log y")).to_have_attribute("aria-pressed", "true")
        self.assertNotIn("log", page.url)
        page.locator("body").press("v")
        expect(pane).to_be_hidden()
        expect(row(page, one)).to_be_visible()

    def test_filters_orders_and_columns(self):
        one, two = self.make("filter-b", "filter-a")
        self.testbed.api("PATCH", f"/api/v1/experiments/{one}", {"labels": ["only-this"]})
        page = self.page_at("/det/experiments?search=filter-")
        self.assertEqual(ids(page), [two, one])
        page.get_by_role("button", name="Name").click()
        expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
        expect(rows(page).first).to_contain_text("filter-a")
        page.get_by_role("button", name="Name").click()
        expect(rows(page).first).to_contain_text("filter-b")
        expect(page).to_have_url(re.compile("sort=-name"))
        page.locator(".filters").get_by_role("button", name="Label").click()
        page.get_by_role("checkbox", name=re.compile("only-this")).check()
        expect(rows(page)).to_have_count(1)
        expect(page).to_have_url(re.compile("labels=only-this"))
        page.keyboard.press("Escape")
        page.locator(".filters").get_by_role("button", name="State").click()
        page.get_by_role("checkbox", name=re.compile("COMPLETED")).check()
        expect(page.get_by_text("No experiments match")).to_be_visible()
        page.keyboard.press("Escape")
        page.locator(".chips").get_by_role("button", name="Remove COMPLETED").click()
        expect(row(page, one)).to_be_visible()
        page.get_by_role("button", name="Columns").click()
        page.get_by_role("checkbox", name="Priority").check()
        page.get_by_role("checkbox", name="Trials").uncheck()
        page.keyboard.press("Escape")
        expect(page.locator("th", has_text="Priority")).to_be_visible()
        expect(page.locator("th", has_text="Trials")).to_have_count(0)
        expect(page).to_have_url(re.compile("columns=.*priority"))
        page.goto(self.testbed.url + "/det/experiments")
        self.filled(page)
        expect(page.locator("th", has_text="Priority")).to_be_visible()
        page.go_back()
        self.filled(page)
        expect(page).to_have_url(re.compile("labels=only-this"))

    # ---- actions

    def test_every_action_does_what_it_says(self):
        held = self.testbed.hold("act")
        runs = self.testbed.create("act-runs", WAITS.format(held))
        one, two = self.make("act-one", "act-two")
        self.testbed.wait(runs, "RUNNING")
        page = self.page_at("/det/experiments?search=act-&columns=id,name,state,labels")
        self.select(page, runs)
        self.act(page, "Pause")
        expect(page.get_by_role("status").filter(has_text="1 experiment paused.")).to_be_visible()
        expect(row(page, runs)).to_contain_text("PAUSED")
        self.act(page, "Activate")
        expect(row(page, runs)).to_contain_text(re.compile("QUEUED|STARTING|RUNNING|PULLING"))
        self.select(page, one)
        self.act(page, "Kill")
        expect(page.get_by_role("status").filter(has_text="2 experiments killed.")).to_be_visible()
        expect(row(page, one)).to_contain_text("CANCELED")
        expect(row(page, runs)).to_contain_text("CANCELED")
        page.get_by_role("button", name="Clear selection").click()
        self.select(page, two)
        self.act(page, "Cancel")
        expect(row(page, two)).to_contain_text("CANCELED")
        self.select(page, one)
        self.act(page, "Add label …", confirm=False)
        page.get_by_role("dialog").get_by_label("Label").fill("from <the> page")
        page.get_by_role("dialog").get_by_role("button", name="Add").click()
        page.get_by_role("dialog").get_by_role("button", name="Label 2 experiments").click()
        expect(row(page, two)).to_contain_text("from <the> page")
        self.assertEqual(self.testbed.experiment(one)["labels"], ["from <the> page"])
        self.act(page, "Remove label …", confirm=False)
        page.get_by_role("dialog").get_by_label("Label").fill("from <the> page")
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Unlabel 2 experiments").click()
        expect(row(page, two)).not_to_contain_text("from <the> page")
        self.act(page, "Archive")
        expect(row(page, one)).to_have_count(0)
        page.get_by_label("Archived experiments").select_option("yes")
        expect(row(page, one)).to_contain_text("archived")
        self.act(page, "Unarchive")
        expect(row(page, one)).to_have_count(0)
        page.get_by_label("Archived experiments").select_option("both")
        self.act(page, "Delete", confirm=False)
        question = page.get_by_role("dialog")
        expect(question).to_contain_text(f"{one} “act-one”")
        expect(question).to_contain_text("cannot be undone")
        question.get_by_role("button", name="Delete 2 experiments").click()
        expect(row(page, one)).to_have_count(0)
        expect(row(page, two)).to_have_count(0)
        until(lambda: not self.testbed.api("GET", "/api/v1/det/experiments?search=act-&limit=0")["total"] > 1, "they are gone")

    def test_each_refused_action_is_reported(self):
        one, two = self.make("refuse-one", "refuse-two")
        page = self.page_at("/det/experiments?search=refuse-")
        self.select(page, one, two)
        self.testbed.api("POST", f"/api/v1/experiments/{one}/kill")
        expect(row(page, one)).to_contain_text("CANCELED")
        self.act(page, "Archive")
        expect(page.get_by_role("status").filter(has_text="1 experiment archived.")).to_be_visible()
        expect(page.get_by_role("status").filter(has_text=re.compile(f"not archived \\({two}\\): Experiment is not in terminal state"))).to_be_visible()

    def test_a_question_that_is_answered_with_no_changes_nothing(self):
        one, = self.make("no-one")
        page = self.page_at("/det/experiments?search=no-one")
        self.select(page, one)
        self.act(page, "Kill", confirm=False)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        self.assertEqual(self.state(one), "PAUSED")

    # ---- live changes

    def test_progress_arrives_while_one_looks_and_the_focus_stays(self):
        id_ = self.testbed.create("live-one", REPORTS.format(self.testbed.hold("live1"), self.testbed.hold("live2")))
        page = self.page_at("/det/experiments?search=live-one")
        expect(row(page, id_)).to_contain_text("0.75")
        row(page, id_).focus()
        page.keyboard.press("Space")
        self.testbed.release("live1")
        expect(row(page, id_)).to_contain_text("0.125")
        expect(row(page, id_).get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
        expect(row(page, id_)).to_be_focused()
        expect(row(page, id_).get_by_role("checkbox")).to_be_checked()
        self.testbed.release("live2")
        expect(row(page, id_)).to_contain_text("COMPLETED")

    def test_a_second_tab_deletes_what_the_first_shows(self):
        one, two = self.make("tab-one", "tab-two")
        self.testbed.api("POST", "/api/v1/det/experiments/actions", {"action": "kill", "ids": [one, two]})
        first = self.page_at("/det/experiments?search=tab-")
        self.select(first, one, two)
        second = self.page_at("/det/experiments?search=tab-one")
        expect(row(second, one)).to_contain_text("CANCELED")
        self.select(second, one)
        self.act(second, "Delete")
        expect(second.get_by_text("No experiments match")).to_be_visible()
        expect(row(first, one)).to_have_count(0)
        expect(first.get_by_text("1 selected")).to_be_visible()

    def test_a_missed_deletion_is_removed_from_the_selection(self):
        one, two = self.make("unheard-one", "unheard-two")
        context = self.context()
        context.add_init_script(DEAF)
        page = context.new_page()
        page.goto(self.testbed.url + "/det/experiments?search=unheard-")
        self.filled(page)
        self.select(page, one, two)
        page.evaluate("window.isDeaf = true")
        self.testbed.remove([two])
        until(lambda: self.testbed.api("GET", "/api/v1/det/experiments?search=unheard-&limit=0")["total"] == 1, "it is gone")
        expect(page.get_by_text("2 selected")).to_be_visible()
        page.evaluate('stream.dispatchEvent(new MessageEvent("reset", {data: "{}"}))')
        expect(page.get_by_text("1 selected")).to_be_visible()

    # ---- by keyboard

    def test_the_keyboard_alone_does_everything(self):
        one, two, three = self.make("key-one", "key-two", "key-three")
        page = self.page_at("/det/experiments")
        page.keyboard.press("/")
        page.keyboard.type("key-")
        expect(rows(page)).to_have_count(3)
        page.keyboard.press("ArrowDown")
        expect(row(page, three)).to_be_focused()
        page.keyboard.press("Space")
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        expect(row(page, one)).to_be_focused()
        page.keyboard.press("Shift+Space")
        expect(page.get_by_text("3 selected")).to_be_visible()
        page.keyboard.press("k")
        page.keyboard.press("Space")
        expect(page.get_by_text("2 selected")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Selected experiments")).to_be_hidden()
        page.keyboard.press("a")
        expect(page.get_by_text("3 selected")).to_be_visible()
        self.keyboard_reaches(page, ".selected-bar .danger", key="Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Enter")
        expect(row(page, two)).to_contain_text("CANCELED")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Select all on this page")
        self.contrast(page)
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        expect(page).to_have_url(re.compile(rf"/det/compare\?experiments={three}"))
        page.go_back()
        self.filled(page)
        row(page, two).focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(self.testbed.url + f"/det/experiments/{two}")

    def test_menus_open_and_tick_by_keyboard(self):
        page = self.page_at("/det/experiments")
        self.keyboard_reaches(page, ".filters button")
        page.keyboard.press("Enter")
        expect(page.locator(".checks:popover-open input").first).to_be_focused()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        expect(page).to_have_url(re.compile("states="))
        self.looks(page, "experiments-menu")


class Many(BrowserTest):
    """A master with thirty thousand experiments."""

    @classmethod
    def setUpClass(cls):
        cls.many = ManyExperiments(harness.fixture.testbed.program, COUNT)

    @classmethod
    def tearDownClass(cls):
        cls.many.stop()

    def setUp(self):
        super().setUp()
        self.testbed = self.many

    def test_pages_orders_and_searches_of_thirty_thousand(self):
        page = self.page_at("/det/experiments")
        expect(page.get_by_text("1–50 of 30\u202f000")).to_be_visible()
        expect(rows(page)).to_have_count(50)  # some rows follow a frame later
        self.assertEqual(ids(page), list(range(COUNT, COUNT - 50, -1)))
        page.get_by_role("button", name="Next").click()
        expect(row(page, COUNT - 50)).to_be_visible()
        expect(page).to_have_url(re.compile("page=2"))
        page.keyboard.press("n")
        expect(row(page, COUNT - 100)).to_be_visible()
        page.go_back()
        self.filled(page)
        expect(row(page, COUNT - 50)).to_be_visible()
        page.get_by_role("button", name="Name").click()
        expect(rows(page).first).to_contain_text("crowd-0000")
        expect(page.get_by_text("1–50 of 30\u202f000")).to_be_visible()
        page.get_by_role("searchbox").fill("-29999")
        expect(rows(page)).to_have_count(1)
        page.get_by_role("searchbox").fill("")
        expect(page.get_by_text("1–50 of 30\u202f000")).to_be_visible()
        page.goto(self.testbed.url + "/det/experiments?page=600&size=50")
        self.filled(page)
        expect(row(page, 1)).to_be_visible()
        page.goto(self.testbed.url + "/det/experiments?page=99999")
        self.filled(page)
        expect(row(page, 1)).to_be_visible()
        expect(page).to_have_url(re.compile("page=600"))
        self.shot(page, "experiments-many")

    def test_all_that_match_are_labelled_at_once(self):
        page = self.page_at("/det/experiments?states=ERROR")
        total = self.testbed.api("GET", "/api/v1/det/experiments?states=ERROR&limit=0")["total"]
        self.assertGreater(total, 2000)
        page.get_by_role("checkbox", name="Select all on this page").check()
        page.get_by_role("button", name=re.compile("^Select all .* that match")).click()
        bar = page.get_by_role("region", name="Selected experiments")
        expect(bar.locator("strong")).to_have_text(re.compile(r"^\d.\d{3} selected"))  # the bar is redrawn when they are known
        bar.get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name="Add label …").click()
        page.get_by_role("dialog").get_by_label("Label").fill("went-wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text(re.compile("and 2.\\d\\d\\d more|and 3.\\d\\d\\d more"))
        page.get_by_role("dialog").get_by_role("button", name=re.compile("^Label ")).click()
        expect(page.get_by_role("status").filter(has_text="went-wrong")).to_be_visible()
        self.assertEqual(self.testbed.api("GET", "/api/v1/det/experiments?labels=went-wrong&limit=0")["total"], total)
