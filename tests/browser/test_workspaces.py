# SPDX-License-Identifier: Apache-2.0
"""Workspaces and projects: the way from the navigation to an experiment, and the dialogs on it."""
from harness import BrowserTest, expect

TINY = "name: %s\nentrypoint: sleep 9\nsearcher: {name: single, metric: x}\nresources: {slots_per_trial: 0}\n"


class Workspaces(BrowserTest):
    def make(self, name):
        """A workspace with one project and one paused experiment in it."""
        workspace = self.testbed.api("POST", "/api/v1/workspaces", {"name": name})["workspace"]
        project = self.testbed.api("POST", f"/api/v1/workspaces/{workspace['id']}/projects", {"name": f"{name} project", "description": "what it is for"})["project"]
        experiment = self.testbed.api("POST", "/api/v1/experiments", {"config": TINY % f"{name} run", "projectId": project["id"]})["experiment"]
        return workspace["id"], project["id"], experiment["id"]

    def test_the_navigation_leads_through_workspaces_and_projects_to_experiments(self):
        workspace, project, experiment = self.make("Walked")
        page = self.page_at("/det/")
        page.get_by_role("link", name="Workspaces").click()
        expect(page.get_by_role("heading", name="Workspaces", level=1)).to_be_visible()
        pinned = page.get_by_role("region", name="Pinned")
        expect(pinned.get_by_role("link", name="Walked", exact=True)).to_be_visible()
        self.looks(page, "workspaces")
        page.get_by_role("searchbox").fill("walk")
        pinned.get_by_role("link", name="Walked", exact=True).click()
        expect(page.get_by_role("heading", name="Walked", level=1)).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="Walked project")).to_contain_text("what it is for")
        self.looks(page, "workspace")
        page.get_by_role("link", name="Settings", exact=True).click()
        expect(page.get_by_text("the cluster's default").first).to_be_visible()
        self.looks(page, "workspace-settings")
        page.get_by_role("link", name="Projects").click()
        page.get_by_role("link", name="Walked project").click()
        expect(page.get_by_role("heading", name="Walked project", level=1)).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="Walked run")).to_be_visible()
        expect(page.get_by_role("row")).to_have_count(2)
        self.looks(page, "project")
        page.get_by_role("link", name="Walked run").click()
        path = page.get_by_role("navigation", name="Path")
        expect(path).to_contain_text("Walked")
        path.get_by_role("link", name="Walked project").click()
        main = page.get_by_role("navigation", name="Main")
        expect(main.get_by_role("link", name="Workspaces")).to_have_attribute("aria-current", "page")
        self.assertIn(f"/projects/{project}", page.url)
        main.get_by_role("link", name="Workspaces").click()
        expect(page.get_by_role("region", name="Recent projects").get_by_role("link", name="Walked project")).to_be_visible()

    def test_workspaces_and_projects_are_made_changed_and_deleted(self):
        page = self.page_at("/det/workspaces")
        page.get_by_role("button", name="New workspace").click()
        page.get_by_role("dialog").get_by_label("Name").fill("../bad")
        page.get_by_role("dialog").get_by_role("button", name="Create").click()
        expect(page.get_by_text("must not look like a path")).to_be_visible()
        self.allow("400")
        page.get_by_role("button", name="New workspace").click()
        page.get_by_role("dialog").get_by_label("Name").fill("Made here")
        page.get_by_role("dialog").get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", name="Made here", level=1)).to_be_visible()
        expect(page.get_by_text("There are no projects yet.")).to_be_visible()
        page.get_by_role("button", name="New project").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("First")
        dialog.get_by_label("Key").fill("fst")
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", name="First", level=1)).to_contain_text("FST")
        expect(page.get_by_text("There are no experiments in this project yet.")).to_be_visible()
        page.get_by_role("button", name="Actions").click()
        page.get_by_role("menuitem", name="Edit").click()
        page.get_by_role("dialog").get_by_label("Description").fill("described now")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.get_by_text("described now")).to_be_visible()
        page.get_by_role("link", name="Notes").click()
        page.get_by_role("button", name="Add note").click()
        page.get_by_role("dialog").get_by_label("Title").fill("Plan")
        page.get_by_role("dialog").get_by_label("Text").fill("- **first** this\n- then that")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.get_by_role("region", name="Plan").get_by_role("listitem")).to_have_count(2)
        self.looks(page, "project-notes")
        page.get_by_role("button", name="Delete Plan").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("No notes yet.")).to_be_visible()
        page.get_by_role("button", name="Actions").click()
        page.get_by_role("menuitem", name="Archive").click()
        expect(page.get_by_role("heading", name="First", level=1)).to_contain_text("archived")
        page.get_by_role("button", name="Actions").click()
        page.get_by_role("menuitem", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="Made here", level=1)).to_be_visible()
        expect(page.get_by_text("There are no projects yet.")).to_be_visible()
        page.get_by_role("button", name="Actions").click()
        page.get_by_role("menuitem", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="Workspaces", level=1)).to_be_visible()
        expect(page.get_by_role("link", name="Made here")).to_have_count(0)

    def test_experiments_are_moved_from_the_table(self):
        _, project, experiment = self.make("Source")
        target, there, _ = self.make("Target")
        page = self.page_at(f"/det/projects/{project}")
        page.get_by_role("row").filter(has_text="Source run").get_by_role("checkbox").check()
        page.get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name="Move to project").click()
        page.get_by_role("dialog").get_by_label("Project").select_option(label="Target / Target project")
        page.get_by_role("dialog").get_by_role("button", name="Move").click()
        expect(page.get_by_text("1 experiment moved to Target project.")).to_be_visible()
        expect(page.get_by_text("There are no experiments in this project yet.")).to_be_visible()
        self.assertEqual(self.testbed.api("GET", f"/api/v1/experiments/{experiment}")["experiment"]["projectId"], there)

    def test_what_is_not_there_says_so(self):
        self.allow("404")
        page = self.page_at("/det/workspaces/4711", wait=False)
        expect(page.get_by_role("alert")).to_contain_text("workspace '4711' not found", ignore_case=True)
        page = self.page_at("/det/projects/none", wait=False)
        expect(page.get_by_role("alert")).to_contain_text("Not found")
