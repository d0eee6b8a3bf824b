# SPDX-License-Identifier: Apache-2.0
"""The frame around the pages: how it is sent, where it leads, what it does when things break."""
from harness import BrowserTest, expect


class Frame(BrowserTest):
    def test_the_address_of_the_master_leads_to_the_page(self):
        page = self.page_at("/")
        self.assertEqual(page.url, self.world.url + "/det/")
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
