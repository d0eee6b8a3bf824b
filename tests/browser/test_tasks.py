# SPDX-License-Identifier: Apache-2.0
"""Jobs and TensorBoards: the list with its filters, the page of a job, killing."""
import re

from harness import BrowserTest, expect

HOLD = "until [ -e %s ]; do sleep 0.02; done"


class Tasks(BrowserTest):
    def start_job(self, name, entrypoint):
        config = f"name: {name}\nentrypoint: {entrypoint!r}\nresources: {{slots: 0}}\n"
        return self.testbed.api("POST", "/api/v1/generic-tasks", {"config": config})["taskId"]

    def test_jobs_are_listed_filtered_and_killed(self):
        page = self.page_at("/det/tasks")
        hold = self.testbed.hold("tasks-1")
        task = self.start_job("held job", HOLD % hold)
        row = page.get_by_role("row").filter(has_text="held job")
        expect(row).to_contain_text("ACTIVE")
        expect(row).to_contain_text("Job")
        self.looks(page, "tasks")
        page.get_by_role("searchbox").fill("no such")
        expect(page.get_by_text("No tasks match.")).to_be_visible()
        page.get_by_role("searchbox").fill("held")
        expect(row).to_be_visible()
        page.get_by_label("Type").select_option("TensorBoard")
        expect(row).to_have_count(0)
        page.get_by_label("Type").select_option("Job")
        expect(row).to_be_visible()
        page.get_by_label("Slots", exact=True).select_option("some")
        expect(row).to_have_count(0)
        page.get_by_label("Slots", exact=True).select_option("none")
        page.get_by_label("Started").select_option("hour")
        expect(row).to_be_visible()
        self.assertIn("type=Job", page.url)
        row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Kill").click()
        page.get_by_role("dialog").get_by_role("button", name="Kill").click()
        expect(row).to_have_count(0)
        page.get_by_label("Show ended").check()
        expect(row).to_contain_text("CANCELED")
        self.assertEqual(self.testbed.api("GET", f"/api/v1/tasks/{task}")["task"]["taskState"], "GENERIC_TASK_STATE_CANCELED")

    def test_a_job_has_a_page_with_its_runs_configuration_and_log(self):
        page = self.page_at(f"/det/tasks/{self.testbed.job}")
        expect(page.locator(".head .badge")).to_have_text("COMPLETED")
        expect(page.get_by_role("region", name="Runs").get_by_role("row")).to_have_count(2)
        self.looks(page, "task")
        page.get_by_role("link", name="Configuration").click()
        expect(page.get_by_text("entrypoint:")).to_be_visible()
        self.looks(page, "task-configuration")
        page.get_by_role("link", name="Logs").click()
        self.filled(page)
        expect(page.get_by_role("link", name="Logs")).to_have_attribute("aria-current", "page")

    def test_a_job_is_watched_to_its_end(self):
        hold = self.testbed.hold("tasks-2")
        task = self.start_job("watched job", HOLD % hold)
        page = self.page_at(f"/det/tasks/{task}")
        expect(page.locator(".head .badge")).to_have_text("ACTIVE")
        page.get_by_role("link", name="Logs").hover()
        page.mouse.down()
        self.testbed.release("tasks-2")
        expect(page.locator(".head .badge")).to_have_text("COMPLETED")
        expect(page.get_by_role("button", name="Kill")).to_have_count(0)
        page.mouse.up()  # the link was not replaced
        expect(page).to_have_url(re.compile(f"/tasks/{task}/logs$"))

    def test_an_unknown_task_is_reported(self):
        self.allow(r"404")
        page = self.page_at("/det/tasks/nobody", wait=False)
        expect(page.get_by_role("alert")).to_contain_text("not found")
