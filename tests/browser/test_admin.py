# SPDX-License-Identifier: Apache-2.0
"""Administration: users, groups, roles, access and tokens, as an administrator and as a user."""
import json
import urllib.request

from harness import BrowserTest, expect


class Administration(BrowserTest):
    def setUp(self):
        super().setUp()
        self.admin = self.token_of("admin")

    def token_of(self, name, password=""):
        return self.testbed.api("POST", "/api/v1/auth/login", {"username": name, "password": password})["token"]

    def call(self, method, path, body=None):
        """A call as the administrator."""
        call = urllib.request.Request(self.testbed.url + path, None if body is None else json.dumps(body).encode(), method=method)
        call.add_header("Authorization", "Bearer " + self.admin)
        with urllib.request.urlopen(call, timeout=30) as reply:
            return json.loads(reply.read() or b"{}")

    def admin_at(self, address):
        return self.page_at(address, token=self.admin)

    def act(self, page, name, action):
        page.get_by_role("button", name=f"Actions for {name}").click()
        page.get_by_role("menuitem", name=action).click()

    def test_an_administrator_adds_edits_and_deactivates_users(self):
        page = self.admin_at("/det/admin")
        expect(page.get_by_role("link", name="Admin", exact=True)).to_have_attribute("aria-current", "page")
        page.get_by_role("button", name="Add user").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("User name").fill("carla")
        dialog.get_by_label("Password").fill("short")
        dialog.get_by_role("button", name="Add").click()
        expect(dialog.get_by_role("alert")).to_contain_text("at least 8 characters")
        dialog.get_by_label("Password").fill("long enough")
        dialog.get_by_role("button", name="Add").click()
        row = page.get_by_role("row").filter(has_text="carla")
        expect(row).to_contain_text("ACTIVE")
        self.looks(page, "admin-users")
        self.act(page, "carla", "Edit")
        dialog.get_by_label("Display name").fill("Admin")
        dialog.get_by_role("button", name="Save").click()
        self.allow("400")
        expect(dialog.get_by_role("alert")).to_contain_text("cannot be renamed")
        dialog.get_by_label("Display name").fill("Carla C.")
        dialog.get_by_role("button", name="Save").click()
        expect(row).to_contain_text("Carla C.")
        self.act(page, "carla", "Link to a Unix user")
        dialog.get_by_label("User ID").fill("1234")
        dialog.get_by_label("User", exact=True).fill("carla")
        dialog.get_by_label("Group ID").fill("100")
        dialog.get_by_label("Group", exact=True).fill("users")
        dialog.get_by_role("button", name="Save").click()
        expect(row).to_contain_text("carla (1234)")
        self.act(page, "carla", "Deactivate")
        expect(row).to_have_count(0)
        page.get_by_label("Show inactive").check()
        expect(row).to_contain_text("INACTIVE")
        self.act(page, "admin", "Deactivate")
        expect(page.locator(".toast.bad")).to_contain_text("no active administrator")

    def test_groups_have_members(self):
        page = self.admin_at("/det/admin/groups")
        page.get_by_role("button", name="Add group").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("readers")
        dialog.get_by_role("button", name="Add").click()
        card = page.get_by_role("region", name="Group readers")
        expect(card).to_contain_text("No members.")
        self.act(page, "readers", "Add a member")
        dialog.get_by_label("User").select_option("determined")
        dialog.get_by_role("button", name="Add").click()
        expect(card).to_contain_text("determined")
        self.looks(page, "admin-groups")
        card.get_by_role("button", name="Remove determined").click()
        expect(card).to_contain_text("No members.")
        self.act(page, "readers", "Delete")
        dialog.get_by_role("button", name="Delete").click()
        expect(card).to_have_count(0)

    def test_roles_are_assigned_and_the_access_page_says_why(self):
        page = self.admin_at("/det/admin/roles")
        expect(page.get_by_role("region", name="Role ClusterAdmin")).to_contain_text("admin · cluster")
        page.get_by_role("button", name="Assign role").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("To").select_option("determined")
        dialog.get_by_label("Role").select_option("ClusterAdmin")
        dialog.get_by_label("Where").select_option("1")
        dialog.get_by_role("button", name="Assign").click()
        self.allow("400")
        expect(dialog.get_by_role("alert")).to_contain_text("global-only")
        dialog.get_by_label("Role").select_option("Editor")
        dialog.get_by_role("button", name="Assign").click()
        card = page.get_by_role("region", name="Role Editor", exact=True)
        expect(card).to_contain_text("determined · Uncategorized")
        self.looks(page, "admin-roles")
        card.get_by_role("button", name="Remove").click()
        expect(card).to_contain_text("Nobody has this role.")
        page.get_by_role("link", name="Access", exact=True).click()
        row = page.get_by_role("row").filter(has_text="determined")
        expect(row).to_contain_text("any user")
        expect(page.get_by_role("row").filter(has_text="administrator")).to_have_count(1)
        row.locator("summary").first.click()
        expect(row).to_contain_text("view experiment metadata")
        self.looks(page, "admin-access")

    def test_a_token_is_shown_once_and_revoked(self):
        page = self.admin_at("/det/admin/tokens")
        page.get_by_role("button", name="Create token").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Acts as").select_option("determined")
        dialog.get_by_label("Description").fill("browser robot")
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.locator("pre.token")).to_contain_text("s")
        token = dialog.locator("pre.token").inner_text().strip()
        dialog.get_by_role("button", name="Done").click()
        row = page.get_by_role("row").filter(has_text="browser robot")
        expect(row).to_contain_text("ACTIVE")
        self.assertNotIn(token, page.content())
        self.looks(page, "admin-tokens")
        number = row.get_by_role("cell").first.inner_text()
        self.act(page, f"token {number}", "Revoke")
        dialog.get_by_role("button", name="Revoke").click()
        expect(row).to_have_count(0)
        page.get_by_label("Show expired and revoked").check()
        expect(row).to_contain_text("REVOKED")

    def test_a_user_looks_but_changes_nothing(self):
        page = self.page_at("/det/admin/users")
        expect(page.get_by_role("row").filter(has_text="determined")).to_be_visible()
        expect(page.get_by_role("button", name="Add user")).to_have_count(0)
        expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Admin")).to_have_count(0)
        page.get_by_role("link", name="Tokens", exact=True).click()
        expect(page.get_by_role("button", name="Create token")).to_have_count(0)
        page.get_by_role("link", name="Access", exact=True).click()
        expect(page.get_by_text("Those who assign roles in a workspace see here")).to_be_visible()
        self.looks(page, "admin-access-user")

    def test_an_unknown_tab_is_not_found(self):
        self.allow("404")
        page = self.page_at("/det/admin/nothing", wait=False)
        expect(page.get_by_role("heading").first).to_contain_text("ound")
