# SPDX-License-Identifier: Apache-2.0
"""The pages as a user of each role, on a master in mode rbac: nothing is offered that the user may not do, no page shows an
error, and what a role allows works."""
import os

from harness import BrowserTest, expect
from testbed import SEARCH, Testbed

PASSWORD = "a long password"
VIEWER, EDITOR, WORKSPACE_ADMIN, CLUSTER_ADMIN = 4, 5, 2, 1
PEOPLE = ["vera", "ed", "wanda", "chris", "nora"]  # viewer (through a group), editor, workspace admin, cluster admin, no role
bed = None


def setUpModule():
    """A workspace with a project, an ended and a paused experiment, a job; and a user of each role."""
    global bed
    bed = Testbed(os.path.abspath(os.environ["DET"]), config={"security": {"authz": {"type": "rbac"}}}, user="admin")
    bed.start()
    bed.space = bed.api("POST", "/api/v1/workspaces", {"name": "Vision"})["workspace"]["id"]
    bed.project = bed.api("POST", f"/api/v1/workspaces/{bed.space}/projects", {"name": "digits", "description": "pictures of digits"})["project"]["id"]
    bed.api("POST", f"/api/v1/projects/{bed.project}/notes", {"name": "Plan", "contents": "first A, then B"})
    where = {"workspace": "Vision", "project": "digits"}
    bed.ended = bed.create("ended", SEARCH, {"hyperparameters": {"lr": 0.1}, "labels": ["nightly"], "searcher": {"name": "single", "metric": "validation_loss"}, **where})
    bed.paused = bed.create("paused", SEARCH, where, paused=True)
    bed.elsewhere = bed.create("elsewhere", SEARCH, paused=True)
    bed.job = bed.det("job", "run", "-", "-w", "Vision", stdin='{"name": "a job", "entrypoint": ["sleep", "600"]}').split("Created job ")[1].split()[0]
    ids = {name: bed.api("POST", "/api/v1/users", {"user": {"username": name, "active": True}, "password": PASSWORD})["user"]["id"] for name in PEOPLE}
    readers = bed.api("POST", "/api/v1/groups", {"name": "readers", "addUsers": [ids["vera"]]})["group"]["groupId"]
    here = lambda role: {"role": {"roleId": role}, "scopeWorkspaceId": bed.space}
    bed.api("POST", "/api/v1/roles/add-assignments", {
        "groupRoleAssignments": [{"groupId": readers, "roleAssignment": here(VIEWER)}],
        "userRoleAssignments": [{"userId": ids["ed"], "roleAssignment": here(EDITOR)}, {"userId": ids["wanda"], "roleAssignment": here(WORKSPACE_ADMIN)},
                                {"userId": ids["chris"], "roleAssignment": {"role": {"roleId": CLUSTER_ADMIN}, "scopeCluster": True}}]})
    bed.tokens = {name: bed.api("POST", "/api/v1/auth/login", {"username": name, "password": PASSWORD})["token"] for name in PEOPLE}
    bed.wait(bed.ended)
    bed.trial = bed.trials(bed.ended)[0]


def tearDownModule():
    bed.stop()


class Roles(BrowserTest):
    def setUp(self):
        super().setUp()
        self.testbed = bed

    def at(self, name, address):
        return self.page_at(address, token=bed.tokens[name])

    def visit(self, name, addresses):
        """Looks at pages; each has a heading and no error, and fits the screen."""
        page = self.context(token=bed.tokens[name]).new_page()
        for label, address in addresses.items():
            page.goto(bed.url + "/det" + address)
            self.filled(page)
            expect(page.locator(".error")).to_have_count(0)
            expect(page.locator(".toast.bad")).to_have_count(0)
            self.names(page)
            self.fits(page)
            self.contrast(page)
            self.shot(page, f"role-{name}-{label}")
        return page

    def pages(self):
        return {
            "home": "/", "workspaces": "/workspaces", "workspace": f"/workspaces/{bed.space}", "settings": f"/workspaces/{bed.space}/settings",
            "project": f"/projects/{bed.project}", "notes": f"/projects/{bed.project}/notes", "experiments": "/experiments", "experiment": f"/experiments/{bed.ended}",
            "paused": f"/experiments/{bed.paused}", "experiment-notes": f"/experiments/{bed.ended}/notes", "checkpoints": f"/experiments/{bed.ended}/checkpoints", "trial": f"/trials/{bed.trial}",
            "tasks": "/tasks", "task": f"/tasks/{bed.job}", "cluster": "/cluster", "users": "/admin/users", "groups": "/admin/groups", "roles": "/admin/roles",
            "access": "/admin/access", "tokens": "/admin/tokens", "me": "/settings"}

    def offers(self, page, *names):
        """The names of the buttons in the page, without those of menus, that are in `names`."""
        return [name for name in names if page.get_by_role("button", name=name, exact=True).count()]

    def test_every_page_as_a_viewer(self):
        self.visit("vera", self.pages())

    def test_every_page_as_an_editor(self):
        self.visit("ed", self.pages())

    def test_every_page_as_an_administrator_of_a_workspace(self):
        self.visit("wanda", {**self.pages(), "workspace-access": f"/workspaces/{bed.space}/access"})

    def test_every_page_as_a_cluster_administrator(self):
        self.visit("chris", {**self.pages(), "workspace-access": f"/workspaces/{bed.space}/access", "audit": "/audit"})

    def test_a_user_without_a_role_sees_no_workspace_and_is_told_so(self):
        pages = self.pages()
        open_to_all = ["home", "workspaces", "experiments", "tasks", "cluster", "users", "groups", "roles", "access", "tokens", "me"]
        page = self.visit("nora", {name: pages[name] for name in open_to_all})
        for address in ("/", "/workspaces"):
            page.goto(bed.url + "/det" + address)
            expect(page.get_by_text("You have no role in any workspace.")).to_be_visible()
        self.assertEqual(self.offers(page, "New workspace"), [])
        self.allow("404")
        for label, what in (("workspace", "workspace"), ("project", "project"), ("experiment", "experiment"), ("trial", "trial"), ("task", "task")):
            page.goto(bed.url + "/det" + pages[label])
            expect(page.get_by_role("alert")).to_contain_text(what, ignore_case=True)
            expect(page.get_by_role("alert")).to_contain_text("Not found")

    def test_a_viewer_is_offered_nothing_that_changes(self):
        page = self.at("vera", f"/det/experiments/{bed.paused}")
        self.assertEqual(self.offers(page, "Activate", "Pause", "Fork", "Continue", "TensorBoard", "Add label", "Edit name", "Edit description"), [])
        page.get_by_role("button", name="More").click()
        expect(page.get_by_role("menuitem")).to_have_text(["Compare"])
        page = self.at("vera", f"/det/trials/{bed.trial}")
        self.assertEqual(self.offers(page, "Fork or continue", "TensorBoard", "Kill"), [])
        page = self.at("vera", f"/det/projects/{bed.project}")
        page.get_by_role("row").filter(has_text="paused").get_by_role("checkbox").check()
        self.assertEqual(self.offers(page, "Activate", "Pause", "Cancel", "Kill", "More"), [])
        page.get_by_role("button", name="Actions").click()
        for name in ("Edit …", "Archive", "Delete …"):
            expect(page.get_by_role("menuitem", name=name)).to_be_disabled()
            expect(page.get_by_role("menuitem", name=name)).to_have_attribute("title", "Your roles do not allow this. An administrator of the workspace can give you another role.")
        expect(page.get_by_role("link", name="New experiment")).to_have_count(0)
        page = self.at("vera", "/det/experiments/new")
        expect(page.get_by_text("Your roles do not allow this.")).to_be_visible()
        expect(page.get_by_role("button", name="Create")).to_have_count(0)
        page = self.at("vera", f"/det/projects/{bed.project}/notes")
        self.assertEqual(self.offers(page, "Add note", "Edit Plan", "Delete Plan"), [])
        page = self.at("vera", f"/det/workspaces/{bed.space}")
        self.assertEqual(self.offers(page, "New project"), [])
        expect(page.get_by_role("link", name="Access", exact=True)).to_have_count(0)
        page = self.at("vera", f"/det/tasks/{bed.job}")
        expect(page.get_by_role("button", name="Kill")).to_be_disabled()
        page = self.at("vera", "/det/cluster")
        expect(page.get_by_role("region", name="Queue").get_by_role("spinbutton")).to_have_count(0)
        expect(page.locator(".agent").get_by_role("button", name="Actions")).to_have_count(0)
        expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Admin")).to_have_count(0)

    def test_an_editor_works_in_the_workspace_and_nowhere_else(self):
        page = self.at("ed", f"/det/experiments/{bed.paused}")
        self.assertEqual(self.offers(page, "Activate", "Fork", "TensorBoard", "Add label"), ["Activate", "Fork", "TensorBoard", "Add label"])
        page.get_by_role("button", name="Add label").click()
        page.get_by_label("New label").fill("by an editor")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_text("by an editor")).to_be_visible()
        page.get_by_role("button", name="Fork").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Start immediately").uncheck()
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_role("navigation", name="Path")).to_contain_text("digits")  # beside its parent
        page = self.at("ed", f"/det/workspaces/{bed.space}")
        expect(page.get_by_role("button", name="New project")).to_be_visible()
        expect(page.get_by_role("link", name="Access", exact=True)).to_have_count(0)
        page = self.at("ed", "/det/experiments")
        page.get_by_role("link", name="New experiment").click()
        expect(page.get_by_label("Project").get_by_role("option")).to_have_text(["Vision / digits"])
        page.get_by_role("textbox", name="Configuration").fill("name: by an editor\nentrypoint: 'true'\nsearcher: {name: single, metric: loss}\n")
        page.get_by_label("Start immediately").uncheck()
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("by an editor")
        page = self.at("ed", "/det/experiments")
        expect(page.get_by_role("row").filter(has_text="paused").first).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="elsewhere")).to_have_count(0)

    def test_an_administrator_of_a_workspace_assigns_roles_on_its_page(self):
        page = self.at("wanda", f"/det/workspaces/{bed.space}")
        page.get_by_role("link", name="Access", exact=True).click()
        row = page.get_by_role("row").filter(has_text="vera")
        expect(row).to_contain_text("Viewer through group readers")
        expect(page.get_by_role("row").filter(has_text="chris")).to_contain_text("ClusterAdmin on the cluster")
        expect(page.get_by_role("row").filter(has_text="nora")).to_have_count(0)
        self.looks(page, "workspace-access")
        page.get_by_role("button", name="Assign role").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Where").get_by_role("option")).to_have_text(["Vision"])
        expect(dialog.get_by_label("Role").get_by_role("option", name="ClusterAdmin")).to_have_count(0)
        dialog.get_by_label("To").select_option("ed")
        dialog.get_by_label("Role").select_option("ModelRegistryViewer")
        dialog.get_by_role("button", name="Assign").click()
        expect(page.get_by_role("row").filter(has_text="ed").filter(has_text="Editor")).to_contain_text("ModelRegistryViewer")
        self.assertEqual(self.offers(self.at("wanda", "/det/admin/users"), "Add user"), [])

    def test_a_cluster_administrator_is_offered_everything(self):
        page = self.at("chris", "/det/")
        main = page.get_by_role("navigation", name="Main")
        expect(main.get_by_role("link", name="Admin")).to_be_visible()
        expect(main.get_by_role("link", name="Audit log")).to_be_visible()
        page = self.at("chris", f"/det/experiments/{bed.paused}")
        self.assertEqual(self.offers(page, "Activate", "Fork", "TensorBoard"), ["Activate", "Fork", "TensorBoard"])
        page = self.at("chris", "/det/cluster")
        expect(page.locator(".agent").get_by_role("button", name="Actions").first).to_be_visible()
        page = self.at("chris", "/det/admin/users")
        expect(page.get_by_role("button", name="Add user")).to_be_visible()
