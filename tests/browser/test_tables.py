# SPDX-License-Identifier: Apache-2.0
"""Tables on all pages: heads that stay visible, progress bars, selected rows; and the edges that pages share."""
from harness import PHONE, BrowserTest, expect

# Whether the middle of the head's cell is what the user sees there.
HEAD = """(cell) => {
    const box = cell.getBoundingClientRect();
    const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return [box.top, cell.contains(seen)];
}"""


class Tables(BrowserTest):
    def experiments(self, **options):
        page = self.page_at("/det/experiments", **options)
        expect(page.get_by_role("link", name="search", exact=True)).to_be_attached()
        return page

    def test_the_head_of_a_table_stays_below_the_navigation(self):
        page = self.experiments(viewport={"width": 1280, "height": 360})
        expect(page.get_by_role("region", name="Experiments", exact=True)).to_have_class("table-place fits")
        head = page.get_by_role("columnheader", name="Name")
        page.get_by_role("link", name="search", exact=True).scroll_into_view_if_needed()
        page.mouse.wheel(0, 1000)
        page.wait_for_function("() => scrollY > 100")
        self.assertEqual(head.evaluate(HEAD), [48, True])
        page.get_by_role("checkbox", name="Select all on this page").check()  # the bar of actions lies above the head
        bar = page.get_by_role("region", name="Selected experiments")
        expect(bar).to_be_visible()
        page.mouse.wheel(0, 1000)
        page.wait_for_function("() => scrollY > 100")
        top, seen = head.evaluate(HEAD)
        self.assertTrue(seen)
        self.assertAlmostEqual(top, 48 + bar.bounding_box()["height"], delta=1)

    def test_a_wide_table_scrolls_with_its_head(self):
        page = self.page_at("/det/experiments?columns=id,name,state,progress,bestMetric,trials,owner,start,duration,labels,description,pool,searcher", viewport={"width": 700, "height": 280})
        place = page.get_by_role("region", name="Experiments", exact=True)
        expect(place).to_have_class("table-place")
        expect(place.get_by_role("link", name="search", exact=True)).to_be_attached()
        place.evaluate("(node) => { node.scrollIntoView(); node.scrollTop = 60; }")
        expect(place).to_have_js_property("scrollTop", 60)
        top = place.bounding_box()["y"]
        got, _ = page.get_by_role("columnheader", name="Name").evaluate(HEAD)
        self.assertAlmostEqual(got, top + 1, delta=1)
        self.fits(page)

    def test_progress_bars_have_the_same_length(self):
        page = self.experiments()
        expect(page.get_by_text("0 %", exact=True).first).to_be_visible()
        tracks = page.locator("tbody .track").evaluate_all("(all) => all.map((one) => [one.getBoundingClientRect().width, one.firstChild.style.width])")
        self.assertGreater(len({done for _, done in tracks}), 1, tracks)
        self.assertEqual(len({width for width, _ in tracks}), 1, tracks)

    def test_chips_are_visible_in_a_selected_row(self):
        page = self.experiments()
        row = page.locator(f"tr[data-key='{self.testbed.ids['search']}']")
        row.get_by_role("checkbox").check()
        expect(row).to_have_class("opens selected")
        for chip in (row.locator(".chip").first, row.locator(".badge")):
            self.assertNotEqual(chip.evaluate("(node) => getComputedStyle(node).boxShadow"), "none")
        self.contrast(page)

    def test_navigation_and_content_share_their_edges(self):
        for size in ({"width": 2560, "height": 1300}, {"width": 1280, "height": 800}, PHONE):
            page = self.experiments(viewport=size)
            edges = page.evaluate("""() => {
                const box = (selector) => document.querySelector(selector).getBoundingClientRect();
                const who = document.querySelector(".who").lastElementChild.checkVisibility() ? ".who-name" : ".avatar";
                return [box(".mark").left, box("h1").left, box(who).right, box(".table-place").right];
            }""")
            self.assertAlmostEqual(edges[0], edges[1], delta=1, msg=size)
            self.assertAlmostEqual(edges[2], edges[3], delta=1, msg=size)
