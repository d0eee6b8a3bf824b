# SPDX-License-Identifier: Apache-2.0
"""The documentation below /docs/: pages, links and the search, for everybody."""
from harness import BrowserTest, expect


class Documentation(BrowserTest):
    def test_the_guide_is_read_and_searched(self):
        page = self.page_at("/docs", wait=False)
        expect(page).to_have_url(self.testbed.url + "/docs/index.html")
        expect(page.get_by_role("heading", level=1)).to_contain_text("The guide")
        pages = page.get_by_role("navigation", name="Pages")
        pages.get_by_role("link", name="Concepts", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Concepts")
        expect(pages.get_by_role("link", name="Concepts", exact=True)).to_have_attribute("aria-current", "page")
        self.looks(page, "docs")

        page.keyboard.press("/")
        search = page.get_by_role("searchbox", name="Search the documentation")
        expect(search).to_be_focused()
        search.fill("det_checkpoint_begin")
        found = page.locator("#found")
        expect(found.get_by_role("link").first).to_have_text("det/checkpoint.h: det_checkpoint_begin")
        expect(page.get_by_role("article")).to_be_hidden()
        self.looks(page, "docs-search")
        search.press("Enter")
        expect(page).to_have_url(self.testbed.url + "/docs/c-checkpoint.html#det_checkpoint_begin")
        expect(page.get_by_role("heading", name="det_checkpoint_begin", exact=True)).to_be_visible()

    def test_a_search_without_a_place_says_so_and_markup_is_text(self):
        page = self.page_at("/docs/index.html", wait=False)
        search = page.get_by_role("searchbox")
        search.fill("<b>zzyzx</b>")
        expect(page.locator("#found")).to_have_text("Nothing has all these words.")
        search.fill("trial")
        expect(page.locator("#found")).to_contain_text("places shown; add a word to narrow it")
        search.fill("")
        expect(page.get_by_role("article")).to_be_visible()

    def test_references_come_from_the_code(self):
        page = self.page_at("/docs/python-determined-core.html", wait=False)
        expect(page.get_by_role("heading", name="TrainContext.report_training_metrics")).to_be_visible()
        expect(page.get_by_role("heading", name="_report")).to_have_count(0)
