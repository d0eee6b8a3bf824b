# SPDX-License-Identifier: Apache-2.0
"""The tables of checkpoints of an experiment and of a trial."""
import re

from harness import BrowserTest, expect

KEEPS_ONE = r"""#!/bin/sh
for step in 1 2 3; do
    mkdir m$step && echo $step >m$step/weights.txt
    det report --steps $step --validation loss=$step
    det checkpoint save --steps $step --wait m$step
done
"""


class Checkpoints(BrowserTest):
    def addresses(self):
        """The two pages that list the checkpoints of the same trial."""
        policy = {"save_trial_latest": 1, "save_trial_best": 0, "save_experiment_best": 0}
        id_ = self.testbed.create("keeps one", KEEPS_ONE, {"checkpoint_storage": policy})
        self.addCleanup(self.testbed.remove, [id_])
        self.testbed.wait(id_, "COMPLETED")
        return id_, [f"/det/experiments/{id_}/checkpoints", f"/det/trials/{self.testbed.trials(id_)[0]}/checkpoints"]

    def test_deleted_checkpoints_are_shown_on_request(self):
        id_, addresses = self.addresses()
        heads = []
        for address in addresses:
            page = self.page_at(address)
            table = page.get_by_role("region", name="Checkpoints")
            expect(page.get_by_text("1 checkpoint,")).to_contain_text("2 deleted, not shown")
            expect(table.locator("tbody tr")).to_have_count(1)
            expect(table.locator("tbody")).to_contain_text("COMPLETED")
            page.get_by_role("button", name="Show deleted").click()
            expect(table.locator("tbody tr")).to_have_count(3)
            expect(table.get_by_text("DELETED", exact=True)).to_have_count(2)
            expect(page).to_have_url(re.compile("deleted=1"))
            heads.append(table.get_by_role("columnheader").all_inner_texts())
            self.looks(page, "checkpoints-" + address.split("/")[2])
            again = self.page_at(address + "?deleted=1")
            expect(again.get_by_role("button", name="Show deleted")).to_have_attribute("aria-pressed", "true")
            expect(again.locator("tbody tr")).to_have_count(3)
        self.assertEqual([head for head in heads[0] if head != "Trial"], heads[1])  # one table

    def test_a_uuid_is_copied_and_a_checkpoint_shown_on_both_pages(self):
        _, addresses = self.addresses()
        for address in addresses:
            page = self.page_at(address)
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            uuid = page.locator("tbody tr").get_attribute("data-key")
            self.assertRegex(uuid, "^[0-9a-f-]{36}$")
            page.get_by_role("button", name=f"Copy the UUID of checkpoint {uuid[:8]}").click()
            expect(page.get_by_text("Copied")).to_be_visible()
            self.assertEqual(page.evaluate("navigator.clipboard.readText()"), uuid)
            page.get_by_role("button", name="Show checkpoint").click()
            expect(page.get_by_role("dialog").get_by_text("weights.txt")).to_be_visible()
            expect(page).to_have_url(re.compile("checkpoint=" + uuid))
            again = self.page_at(f"{address}?checkpoint={uuid}")
            expect(again.get_by_role("dialog").get_by_text("weights.txt")).to_be_visible()
            self.names(again)

    def test_a_checkpoint_that_is_deleted_leaves_the_table(self):
        _, (address, _) = self.addresses()
        page = self.page_at(address)
        page.get_by_role("checkbox", name="Select all on this page").check()
        page.get_by_role("button", name="Delete 1", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("All checkpoints were deleted.")).to_be_visible()
        page.get_by_role("button", name="Show deleted").click()
        expect(page.get_by_text("DELETED", exact=True)).to_have_count(3)
