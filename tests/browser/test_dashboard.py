# SPDX-License-Identifier: Apache-2.0
"""The home page: recent experiments, running and waiting jobs, the use of the cluster; all live."""
import json

import harness
from harness import BrowserTest, expect
from testbed import MARKUP, Testbed

HOLD = """#!/bin/sh
det report --steps 1 --progress 0.25 --validation loss=0.5 --wait
until [ -e %s ]; do sleep 0.02; done
det report --steps 2 --progress 0.75 --validation loss=0.125 --wait
until [ -e %s ]; do sleep 0.02; done
"""


class Dashboard(BrowserTest):
    """The page shows the ten newest experiments, so these tests have their own master."""

    @classmethod
    def setUpClass(cls):
        cls.own = Testbed(harness.fixture.testbed.program)
        cls.addClassCleanup(cls.own.stop)
        cls.own.start()
        cls.own.make()

    def setUp(self):
        super().setUp()
        self.testbed = self.own

    def row(self, page, name):
        return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))

    def test_it_shows_what_there_is(self):
        page = self.page_at("/det/")
        expect(self.row(page, "search")).to_contain_text("COMPLETED")
        expect(self.row(page, "failed")).to_contain_text("ERROR")
        expect(self.row(page, "paused")).to_contain_text("PAUSED")
        expect(self.row(page, MARKUP)).to_be_visible()
        expect(page.get_by_role("img", name="of 4 slots of pool default are in use")).to_be_visible()
        self.looks(page, "dashboard")

    def test_an_experiment_can_be_watched_from_its_beginning_to_its_end(self):
        page = self.page_at("/det/")
        first, last = self.testbed.hold("dash-1"), self.testbed.hold("dash-2")
        id_ = self.testbed.create("watched", HOLD % (first, last))
        row = self.row(page, "watched")
        expect(row).to_contain_text("RUNNING")
        expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "25")
        expect(row).to_contain_text("0.5")
        expect(page.get_by_role("img", name="1 of 4 slots of pool default are in use")).to_be_visible()
        expect(page.get_by_role("listitem").filter(has_text="watched")).to_contain_text("1 slot")
        self.shot(page, "dashboard-running")
        self.testbed.release("dash-1")
        expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "75")
        expect(row).to_contain_text("0.125")
        self.testbed.release("dash-2")
        expect(row).to_contain_text("COMPLETED")
        expect(page.get_by_role("img", name="0 of 4 slots of pool default are in use")).to_be_visible()
        self.testbed.wait(id_)

    def test_jobs_appear_while_they_run_or_wait(self):
        page = self.page_at("/det/")
        end = self.testbed.hold("dash-job")
        job = {"name": "a long job", "entrypoint": ["sh", "-c", f"until [ -e {end} ]; do sleep 0.02; done"]}
        self.testbed.det("job", "run", "-", stdin=json.dumps(job))
        item = page.get_by_role("listitem").filter(has_text="a long job")
        expect(item).to_contain_text("RUNNING")
        expect(item).to_contain_text("Job · 1 slot · determined")
        self.testbed.release("dash-job")
        expect(item).to_have_count(0)

    def test_mine_and_everyones_are_told_apart_and_the_choice_is_in_the_address(self):
        admin = self.testbed.api("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]
        page = self.page_at("/det/", token=admin)
        expect(page.get_by_text("You have no experiments yet.")).to_be_visible()
        page.get_by_role("button", name="Everyone’s").click()
        expect(self.row(page, "search")).to_be_visible()
        expect(page).to_have_url(self.testbed.url + "/det/?of=everyone")
        page.reload()
        expect(self.row(page, "search")).to_be_visible()
        expect(page.get_by_role("button", name="Everyone’s")).to_have_attribute("aria-pressed", "true")

    def test_rows_lead_to_their_experiment_by_mouse_and_keyboard(self):
        page = self.page_at("/det/")
        self.row(page, "search").get_by_role("link").click()
        expect(page).to_have_url(self.testbed.url + f"/det/experiments/{self.testbed.ids['search']}")
        page.go_back()
        self.filled(page)
        self.keyboard_reaches(page, "tbody tr")
        key = page.evaluate("document.activeElement.dataset.key")
        page.keyboard.press("Enter")
        expect(page).to_have_url(self.testbed.url + f"/det/experiments/{key}")


class FirstSteps(BrowserTest):
    """A new master without experiments."""

    def setUp(self):
        super().setUp()
        self.testbed = Testbed(self.testbed.program)
        self.addCleanup(self.testbed.stop)
        self.testbed.start()

    def test_a_new_user_sees_commands_that_work_as_they_are(self):
        page = self.page_at("/det/")
        expect(page.get_by_role("heading", name="Run your first experiment")).to_be_visible()
        self.looks(page, "dashboard-new")
        commands = page.locator(".command code").all_text_contents()
        self.testbed.shell("\n".join(commands))
        expect(page.get_by_role("link", name="first", exact=True).first).to_be_visible()
        expect(page.get_by_role("row").nth(1)).to_contain_text("COMPLETED")
