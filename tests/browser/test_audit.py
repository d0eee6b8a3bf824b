# SPDX-License-Identifier: Apache-2.0
"""The audit log, as an administrator and as somebody else."""
from harness import expect
from test_session import LOST, People


class Audit(People):
    def admin(self):
        return self.testbed.api("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]

    def test_an_administrator_sees_and_filters_what_happened(self):
        user = self.person("audited")
        page = self.page_at("/det/audit", token=self.admin())
        expect(page.get_by_role("heading", level=1)).to_have_text("Audit log")
        row = page.get_by_role("row").filter(has_text="create user").filter(has_text=f"user {user['id']}")
        expect(row).to_contain_text("admin")
        expect(row).to_contain_text("127.0.0.1")
        expect(page.get_by_text("Secret-Word-1")).to_have_count(0)
        page.get_by_label("Action").fill("no_such_call")
        expect(page.get_by_text("No entries match.")).to_be_visible()
        expect(page).to_have_url(self.testbed.url + "/det/audit?action=no_such_call")

    def test_others_do_not(self):
        self.allow(LOST)
        self.person("curious")
        page = self.page_at("/det/audit", token=self.token_of("curious"))
        expect(page.get_by_text("Only administrators may read the audit log.")).to_be_visible()
        expect(page.get_by_role("navigation", name="Main").get_by_text("Audit log")).to_have_count(0)
