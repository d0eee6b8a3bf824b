# SPDX-License-Identifier: Apache-2.0
"""The cluster page: pools, slots, tasks that hold them, and the queue; all live."""
from harness import BrowserTest, expect


class Cluster(BrowserTest):
    def setUp(self):
        super().setUp()
        self.hold = self.testbed.hold(self.id())
        self.waits = f"#!/bin/sh\nwhile [ ! -e {self.hold} ]; do sleep 0.05; done\n"
        self.made = []
        self.admin = self.testbed.admin()
        self.addCleanup(self.let_go)

    def page_at(self, address, **options):
        """Only administrators may disable agents and slots."""
        return super().page_at(address, **{"token": self.admin, **options})

    def let_go(self):
        self.enable_all()  # a failed test may have left something disabled
        self.testbed.release(self.id())
        for id_ in self.made:
            self.testbed.det("experiment", "kill", str(id_), check=False)
            self.testbed.wait(id_)

    def enable_all(self):
        for agent in self.testbed.api("GET", "/api/v1/agents")["agents"]:
            path = f"/api/v1/agents/{agent['id']}"
            for one in (path, *(f"{path}/slots/{slot['id']}" for slot in agent["slots"].values())):
                self.testbed.api("POST", one + "/enable", token=self.admin)

    def busy(self, name, slots):
        id_ = self.testbed.create(name, self.waits, {"resources": {"slots_per_trial": slots}})
        self.made.append(id_)
        return id_

    def slot(self, page, number):
        return page.locator(f".slot[data-slot='{number}']")

    def test_slots_show_what_they_hold_and_lead_there(self):
        page = self.page_at("/det/cluster")
        expect(page.get_by_role("heading", name="Cluster", level=1)).to_be_visible()
        expect(page.locator(".slot[data-slot]")).to_have_count(self.testbed.slots)
        id_ = self.busy("holds two slots", 2)
        busy = page.locator(".slot.busy[data-slot]")
        expect(busy).to_have_count(2)  # without a reload
        trial = self.testbed.trials(id_)[0]
        expect(busy.first).to_contain_text(f"trial {trial}")
        waiting = self.busy("has to wait", 4)
        row = page.get_by_role("row", name="has to wait")
        expect(row).to_contain_text("QUEUED")
        expect(row).to_contain_text("0 of 4")
        expect(page.get_by_role("row", name="holds two slots")).to_contain_text("2 of 2")
        self.looks(page, "cluster")
        busy.first.click()
        page.get_by_role("menuitem", name=f"Open Trial {trial}").click()
        expect(page).to_have_url(f"{self.testbed.url}/det/trials/{trial}")
        page.go_back()
        self.filled(page)
        self.testbed.det("experiment", "kill", str(waiting))
        expect(page.get_by_role("row", name="has to wait")).to_have_count(0)
        self.testbed.release(self.id())
        expect(page.locator(".slot.busy[data-slot]")).to_have_count(0)
        expect(page.get_by_text("Nothing is running or waiting.")).to_be_visible()

    def test_slots_and_agents_are_disabled_and_enabled(self):
        page = self.page_at("/det/cluster")
        self.slot(page, 3).click()
        page.get_by_role("menuitem", name="Disable this slot").click()
        expect(self.slot(page, 3)).to_contain_text("disabled")
        pool = page.get_by_role("region", name="Pool default")
        expect(pool).to_contain_text(f"of {self.testbed.slots - 1} slots in use")
        expect(pool).to_contain_text("1 disabled")
        self.shot(page, "cluster-disabled")
        home = self.page_at("/det/")
        expect(home.locator(".pool")).to_contain_text(f"/ {self.testbed.slots - 1} slots in use · 1 disabled")
        expect(home.locator(".squares i")).to_have_count(self.testbed.slots - 1)
        home.close()
        self.slot(page, 3).click()
        page.get_by_role("menuitem", name="Enable this slot").click()
        expect(self.slot(page, 3)).to_contain_text("free")
        expect(pool).to_contain_text(f"of {self.testbed.slots} slots in use")
        expect(pool).not_to_contain_text("disabled")
        agent = page.locator(".agent")
        actions = agent.get_by_role("button", name="Actions for")
        actions.click()
        page.get_by_role("menuitem", name="Disable", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Disable").click()
        expect(agent).to_contain_text("DISABLED")
        actions.click()
        page.get_by_role("menuitem", name="Enable").click()
        expect(agent).to_contain_text("READY")

    def test_a_change_while_a_menu_was_open_is_shown_when_it_closes(self):
        page = self.page_at("/det/cluster")
        page.locator(".agent").get_by_role("button", name="Actions for").click()
        self.testbed.api("POST", f"/api/v1/agents/{page.locator('.agent').get_attribute('data-agent')}/slots/3/disable", {}, token=self.admin)
        expect(page.get_by_role("region", name="Pool default")).to_contain_text("1 disabled")
        expect(page.get_by_role("menuitem", name="Enable")).to_be_visible()
        page.keyboard.press("Escape")
        expect(self.slot(page, 3)).to_contain_text("disabled")

    def test_an_experiment_says_what_it_waits_for(self):
        agent = self.testbed.api("GET", "/api/v1/agents")["agents"][0]["id"]
        self.testbed.api("POST", f"/api/v1/agents/{agent}/disable", {}, token=self.admin)
        id_ = self.busy("nowhere to run", 2)
        page = self.page_at(f"/det/experiments/{id_}")
        expect(page.locator(".facts-line")).to_contain_text("waiting for 2 slots; the pool has none")
        for slot in range(1, len(self.testbed.api("GET", f"/api/v1/agents/{agent}")["agent"]["slots"])):
            self.testbed.api("POST", f"/api/v1/agents/{agent}/slots/{slot}/disable", {}, token=self.admin)
        self.testbed.api("POST", f"/api/v1/agents/{agent}/enable", token=self.admin)
        expect(page.locator(".facts-line")).to_contain_text("waiting for 2 slots; the pool has 1")
        self.enable_all()
        expect(page.locator(".experiment-head .badge").first).to_have_text("RUNNING")
        expect(page.locator(".facts-line")).not_to_contain_text("waiting")

    def test_an_experiment_that_waits_has_not_begun_and_shows_what_it_needs_and_what_is_free(self):
        first = self.busy("takes three", 3)
        self.testbed.wait(first, "RUNNING")
        id_ = self.busy("wants two", 2)
        page = self.page_at(f"/det/experiments/{id_}")
        line = page.locator(".facts-line")
        expect(line).to_contain_text("needs 2 slots, 1 of 4 slots free · next in the queue")
        expect(line).to_contain_text("submitted")
        expect(line).to_contain_text("has not begun")
        expect(line).not_to_contain_text("started")
        expect(page.locator(".experiment-head").get_by_role("progressbar")).to_have_count(0)
        card = page.get_by_role("region", name="Waiting")
        expect(card).to_contain_text("Not begun: waiting for slots" + "It needs" + "2 slots" + "Free now" + "1 of 4 slots in pool default" + "Queue" + "next in the queue")
        self.looks(page, "experiment-queued")
        other = self.context().new_page()
        other.goto(self.testbed.url + f"/det/trials/{self.testbed.trials(id_)[0]}")
        expect(other.locator(".tiles")).to_contain_text("has not begun")
        expect(other.get_by_role("region", name="Details")).not_to_contain_text("Started")
        row = self.page_at("/det/experiments?columns=id,name,state,progress,duration").get_by_role("row", name="wants two")
        expect(row.get_by_role("cell")).to_have_text(["", str(id_), "wants two", "QUEUED", "waiting", ""])
        self.testbed.api("POST", f"/api/v1/experiments/{first}/kill")
        expect(page.locator(".experiment-head .badge").first).to_have_text("RUNNING")
        expect(row.get_by_role("progressbar")).to_be_visible()
        expect(line).to_contain_text("started")
        expect(card).to_have_count(0)
        expect(other.get_by_role("region", name="Details")).to_contain_text("Started")

    def test_an_agent_drains(self):
        self.busy("runs on", 1)
        page = self.page_at("/det/cluster")
        expect(page.locator(".slot.busy[data-slot]")).to_have_count(1)
        actions = page.locator(".agent").get_by_role("button", name="Actions for")
        actions.click()
        page.get_by_role("menuitem", name="Drain").click()
        expect(page.locator(".slot.drains[data-slot]")).to_have_count(1)
        expect(page.locator(".agent")).to_contain_text("DRAINING")
        self.looks(page, "cluster-drains")
        actions.click()
        page.get_by_role("menuitem", name="Enable").click()
        expect(page.locator(".slot.busy[data-slot]")).to_have_count(1)

    def test_a_priority_is_changed_by_keyboard(self):
        self.busy("fills it", 4)
        second = self.busy("second", 4)
        page = self.page_at("/det/cluster")
        self.busy("third", 4)
        expect(page.get_by_role("row", name="second")).to_contain_text("QUEUED" + "next")
        expect(page.get_by_role("row", name="third")).to_contain_text("QUEUED" + "1 job ahead")
        expect(page.get_by_role("row", name="fills it")).not_to_contain_text("ahead")
        box = page.get_by_role("spinbutton", name="Priority of second")
        self.keyboard_reaches(page, "[aria-label='Priority of second']")
        before = box.input_value()
        page.keyboard.press("Control+a")
        page.keyboard.type("1000")
        page.keyboard.press("Enter")
        expect(page.get_by_text("from 1 to 99")).to_be_visible()
        expect(box).to_have_value(before)
        page.keyboard.press("Control+a")
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        expect(page.get_by_text("second has priority 7")).to_be_visible()
        expect(box).to_have_value("7")
        queue = self.testbed.api("GET", "/api/v1/job-queues-v2")["jobs"]
        self.assertEqual([job["full"]["priority"] for job in queue if job["full"]["entityId"] == str(second)], [7])

    def test_users_without_the_right_see_no_controls(self):
        context = self.context()
        # as the master answers users without the right
        context.route("**/api/v1/master", lambda route: route.fulfill(json={**route.fetch().json(), "mayAdminister": False}))
        page = context.new_page()
        page.goto(self.testbed.url + "/det/cluster")
        self.filled(page)
        expect(page.locator("span.slot[data-slot]")).to_have_count(self.testbed.slots)
        expect(page.locator(".agent button")).to_have_count(0)
        self.names(page)
