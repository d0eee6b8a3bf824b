# SPDX-License-Identifier: Apache-2.0
"""What charts and plots say: labels of axes, whole ticks, how much is shown, and what a hyperparameter does."""
import re

from harness import PHONE, BrowserTest, expect

# Notes every text on a canvas with its box, in pixels of the canvas.
TEXTS = """
    window.texts = new Map(); // canvas -> texts since it was cleared
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
        const {width} = this.measureText(text);
        const from = {left: 0, start: 0, center: -width / 2, right: -width, end: -width}[this.textAlign];
        const tall = parseFloat(this.font) || 11;
        const top = {top: 0, hanging: 0, middle: -tall / 2, alphabetic: -tall * 0.8, bottom: -tall}[this.textBaseline];
        const at = this.getTransform();
        const ends = [[x + from, y + top], [x + from + width, y + top + tall]].map(([a, b]) => at.transformPoint(new DOMPoint(a, b)));
        if (!texts.has(this.canvas)) texts.set(this.canvas, []);
        texts.get(this.canvas).push({text, left: Math.min(ends[0].x, ends[1].x), right: Math.max(ends[0].x, ends[1].x), top: Math.min(ends[0].y, ends[1].y), bottom: Math.max(ends[0].y, ends[1].y)});
        return draw.call(this, text, x, y, ...more);
    };
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        texts.delete(this.canvas);
        return clear.apply(this, box);
    };"""
# Texts that reach beyond their canvas.
CUT = """() => [...texts].filter(([canvas]) => canvas.isConnected).flatMap(([canvas, list]) =>
    list.filter((one) => one.left < -1 || one.top < -1 || one.right > canvas.width + 1 || one.bottom > canvas.height + 1).map((one) => one.text))"""
SAID = "() => [...texts].filter(([canvas]) => canvas.isConnected).map(([, list]) => list.map((one) => one.text))"

DISTANCES = """async () => {
    const base = document.querySelector('link[rel=modulepreload]').href;
    const {lineColour} = await import(new URL('chart.js', base).href);
    const pen = new OffscreenCanvas(1, 1).getContext('2d');
    const linear = (text) => {
        pen.fillStyle = text;
        pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    };
    const times = (rows, v) => rows.map((row) => row.reduce((sum, one, i) => sum + one * v[i], 0));
    const eyes = [ // normal; without the receptor for red, for green (Machado, Oliveira, Fernandes 2009)
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]];
    const oklab = (rgb) => times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]],
        times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], rgb).map((v) => Math.cbrt(Math.max(0, v))));
    const colours = Array.from({length: 8}, (_, i) => linear(lineColour(i)));
    return eyes.map((eye) => {
        const seen = colours.map((one) => oklab(times(eye, one)));
        return Math.min(...seen.flatMap((a, i) => seen.slice(0, i).map((b) => Math.hypot(...a.map((v, k) => v - b[k])))));
    });
}"""


class Plots(BrowserTest):
    def drawn(self, address, **options):
        context = self.context(**options)
        context.add_init_script(TEXTS)
        page = context.new_page()
        page.goto(self.testbed.url + address)
        self.filled(page)
        return page

    def shows_whole_texts(self, page):
        """Scrolls through the page, so all charts are drawn, and looks for texts that are cut off."""
        charts = page.locator("figure.chart, .scatter")
        for i in range(charts.count()):
            charts.nth(i).scroll_into_view_if_needed()
            expect(charts.nth(i)).to_have_attribute("data-drawn", re.compile("."))
        self.settled(page)
        self.assertEqual(page.evaluate(CUT), [])

    def test_both_axes_of_a_chart_are_labelled(self):
        trial = self.testbed.trials("search")[0]
        for query, x in (("", "steps"), ("?x=time", "time"), ("?logx=1", "steps (log)")):
            page = self.drawn(f"/det/trials/{trial}/metrics{query}")
            expect(page.locator("figure.chart").first).to_have_attribute("data-drawn", re.compile("."))
            said = page.evaluate(SAID)[0]
            self.assertIn(x, said)
            self.assertIn("validation_loss", said)
        page = self.drawn(f"/det/experiments/{self.testbed.ids['search']}/search")
        expect(page.locator(".scatter[data-drawn]")).to_have_count(3)
        self.assertTrue(any("lr" in said and "validation_loss" in said for said in page.evaluate(SAID)), page.evaluate(SAID))

    def test_no_label_of_an_axis_is_cut_off(self):
        desk = {"width": 1280, "height": 800}
        search, numbers = (self.testbed.trials(name)[0] for name in ("search", "numbers"))
        id_ = self.testbed.ids["search"]
        for size, address in ((PHONE, f"/det/trials/{search}/metrics?x=time"), (PHONE, f"/det/experiments/{id_}/overview"), (PHONE, f"/det/experiments/{id_}/search"),
                              (desk, f"/det/trials/{numbers}/metrics"), (desk, f"/det/experiments/{self.testbed.ids['grid']}/search")):
            page = self.drawn(address, viewport=size)
            expect(page.locator("figure.chart, .scatter").first).to_be_visible()
            self.shows_whole_texts(page)

    def test_the_menu_of_a_chart_is_visible(self):
        page = self.page_at(f"/det/trials/{self.testbed.trials('search')[0]}/metrics")
        button = page.get_by_role("button", name="More actions for loss")
        expect(button).to_be_visible()
        frame, dots = button.evaluate("(node) => [getComputedStyle(node).borderTopColor, getComputedStyle(node).color]")
        self.assertNotEqual(frame, "rgba(0, 0, 0, 0)")
        self.assertEqual(dots, page.evaluate("getComputedStyle(document.body).color"))
        self.assertGreater(button.locator("svg").evaluate("(node) => parseFloat(getComputedStyle(node).strokeWidth)"), 2)

    def test_colours_of_lines_can_be_told_apart(self):
        for scheme in ("light", "dark"):
            page = self.page_at(f"/det/trials/{self.testbed.trials('search')[0]}/metrics", color_scheme=scheme)
            normal, no_red, no_green = page.evaluate(DISTANCES)
            self.assertGreater(normal, 0.15, scheme)
            self.assertGreater(min(no_red, no_green), 0.08, scheme)

    # ---- how much is shown

    def test_a_chart_of_many_trials_says_how_many_it_shows(self):
        id_ = self.testbed.ids["search"]
        real = self.testbed.trials("search")
        context = self.context()

        def many_trials(route):
            reply = route.fetch()
            table = reply.json()
            table["trials"] = [[100000 + i, *table["trials"][i % len(real)][1:]] for i in range(1000)]
            route.fulfill(response=reply, json=table)

        # the master knows only the real trials
        context.route("**/trials-table*", many_trials)
        context.route("**/det/series*", lambda route: route.fulfill(response=route.fetch(url=re.sub("trials=[^&]*", "trials=" + ",".join(map(str, real)), route.request.url))))
        page = context.new_page()
        page.goto(f"{self.testbed.url}/det/experiments/{id_}/overview")
        expect(page.get_by_text("200 of 1\u202f000 trials shown: the best and the running ones.")).to_be_visible()
        page.goto(f"{self.testbed.url}/det/experiments/{id_}/search")
        expect(page.get_by_text("50 of 1\u202f000 trials shown: the best ones.")).to_be_visible()

    # ---- what a hyperparameter does

    def tendency(self, name, hyperparameter):
        page = self.page_at(f"/det/experiments/{self.testbed.ids[name]}/search")
        return page.locator(".importance").get_by_role("row", name=re.compile(f"^{hyperparameter}"))

    def test_larger_is_better_only_where_it_always_is(self):
        row = self.tendency("search", "lr")  # the loss falls with lr and rises again
        expect(row).to_contain_text("best near 0.15")
        expect(row).not_to_contain_text("larger")
        expect(self.tendency("grid", "lr")).to_contain_text("larger is worse")

    def test_the_tendency_of_many_trials(self):
        page = self.page_at(f"/det/experiments/{self.testbed.ids['search']}/search")
        found = page.evaluate("""async () => {
            const base = document.querySelector('link[rel=modulepreload]').href;
            const {readSearch, tendency} = await import(new URL('search_data.js', base).href);
            const noise = (i) => ((i * 2654435761) % 4294967296) / 4294967296 - 0.5;
            const of = (loss, correlation) => {
                const trials = Array.from({length: 200}, (_, i) => [i + 1, "COMPLETED", 1, 0, loss((i + 0.5) / 200) + noise(i) * 0.2, 0, 0, 0, [(i + 0.5) / 200]]);
                const search = readSearch({metric: "loss", smallerIsBetter: true, hparams: ["x"], trials, importance: [{share: 0.8, correlation}]}, {});
                return tendency(search.axes[0], search);
            };
            return [of((x) => -x, -0.95), of((x) => x, 0.95), of((x) => -(x ** 3), -0.95), of((x) => Math.abs(x - 0.8), -0.6), of((x) => -Math.abs(x - 0.2), -0.6)];
        }""")
        self.assertEqual(found[:3], ["larger is better", "larger is worse", "larger is better"])
        self.assertRegex(found[3], r"^best near 0\.[78]")
        self.assertEqual(found[4], "")  # the worst values lie between others
