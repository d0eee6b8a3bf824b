# SPDX-License-Identifier: Apache-2.0
"""Charts: drawing, mouse and keyboard, and how little they read from the master."""
import re

from harness import BrowserTest, expect

# For scripts: waits a limited time for a condition that needs a few frames.
UNTIL = """
    const until = async (holds) => {
        for (let left = 20000; !holds(); left--) {
            if (!left) throw new Error(`never: ${holds}`);
            await new Promise((done) => setTimeout(done, 1));
        }
    };"""


class Charts(BrowserTest):
    def metrics(self, name, query=""):
        """The metrics page of an experiment's first trial."""
        trial = self.testbed.trials(name)[0]
        return self.page_at(f"/det/trials/{trial}/metrics{query}")

    def chart(self, page, title, group=""):
        place = page.locator(f"section[aria-label='{group} metrics']") if group else page
        figure = place.locator("figure.chart").filter(has=page.get_by_role("heading", name=title, exact=True)).first
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_attribute("data-drawn", re.compile("."))
        return figure

    def evaluate(self, figure, what):
        return figure.evaluate(f"(node) => {{ const chart = node.chart; return {what}; }}")

    def drag(self, page, figure, part_from, part_to):
        box = figure.locator(".u-over").bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * part_from, y)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * part_to, y, steps=4)
        page.mouse.up()

    def test_dragging_zooms_and_asks_for_that_stretch_alone(self):
        page = self.metrics("search")
        loss = self.chart(page, "loss")
        other = self.chart(page, "lr")
        loss.scroll_into_view_if_needed()
        with page.expect_request(lambda request: "/det/series" in request.url and "from=" in request.url) as asked:
            self.drag(page, loss, 0.3, 0.7)
        self.assertRegex(asked.value.url, r"to=\d")
        expect(page).to_have_url(re.compile(r"from=\d.*to=\d"))
        low, high = self.evaluate(loss, "[chart.drawn().x.min, chart.drawn().x.max]")
        self.assertTrue(250 < low < 400 and 500 < high < 650, (low, high))
        self.assertEqual(self.evaluate(other, "chart.drawn().x.min"), low)  # all charts of the page zoom together
        again = self.page_at(page.url.removeprefix(self.testbed.url))  # the address restores the zoom
        second = self.chart(again, "loss")
        self.assertAlmostEqual(self.evaluate(second, "chart.drawn().x.min"), low)
        with page.expect_request(lambda request: "/det/series" in request.url and "from=" not in request.url):
            loss.get_by_role("button", name="Reset zoom").click()
        expect(page).not_to_have_url(re.compile("from="))
        page.wait_for_function("(node) => node.chart.drawn().x.min === 100", arg=loss.element_handle())

    def test_a_double_click_shows_all_again(self):
        page = self.metrics("search", "?from=300&to=500")
        loss = self.chart(page, "loss")
        loss.locator(".u-over").dblclick()
        expect(page).not_to_have_url(re.compile("from="))
        page.wait_for_function("(node) => node.chart.drawn().x.max === 800", arg=loss.element_handle())

    def test_smoothing_and_logarithms_are_in_the_address(self):
        page = self.metrics("search")
        loss = self.chart(page, "loss")
        self.assertEqual(self.evaluate(loss, "chart.drawn().lines"), 1)
        page.get_by_role("slider", name="Smoothing").fill("0.6")
        expect(page).to_have_url(re.compile("smooth=0.6"))
        page.wait_for_function("(node) => node.chart.drawn().lines === 2", arg=loss.element_handle())  # the raw line stays
        page.get_by_role("button", name="log y").click()
        expect(page).to_have_url(re.compile("logy=1"))
        self.assertEqual(self.evaluate(loss, "chart.drawn().y.distr"), 3)
        page.get_by_role("button", name="log x").click()
        self.assertEqual(self.evaluate(loss, "chart.drawn().x.distr"), 3)
        again = self.page_at(page.url.removeprefix(self.testbed.url))
        self.assertEqual(self.evaluate(self.chart(again, "loss"), "[chart.drawn().y.distr, chart.drawn().x.distr, chart.drawn().lines]"), [3, 3, 2])

    def test_smoothing_does_not_pull_towards_zero(self):
        page = self.metrics("search")
        out = page.evaluate("""async () => {
            const base = document.querySelector('link[rel=modulepreload], script[type=module]').src || document.querySelector('link[rel=modulepreload]').href;
            const {smooth, prepare, csv} = await import(new URL('chart_data.js', base).href);
            const flat = smooth([5, 5, undefined, null, 5], 0.9);
            const one = prepare({x: Float64Array.of(1, 2, 3, 4), lines: [{y: Float64Array.of(1, NaN, NaN, -4), notNumbers: [[3, "NaN"]]}]}, {});
            const log = prepare({x: Float64Array.of(0, 2), lines: [{y: Float64Array.of(1, -1)}]}, {isLogX: true, isLogY: true});
            return [flat.map((v) => v === undefined ? "none" : v), one.lines[0].y.map((v) => v === undefined ? "none" : v), one.lines[0].alone, [log.x.length, log.dropped],
                    csv("steps", [1, 2], [{label: 'a,"b"', y: [1, NaN]}])];
        }""")
        self.assertEqual(out, [[5, 5, "none", None, 5], [1, "none", None, -4], [0, 3], [1, 1], 'steps,"a,""b"""\r\n1,1\r\n2,\r\n'])

    def test_an_axis_spans_whatever_a_training_reports(self):
        page = self.metrics("search")
        out = page.evaluate("""async () => {
            const base = document.querySelector('link[rel=modulepreload], script[type=module]').src || document.querySelector('link[rel=modulepreload]').href;
            const {yRange} = await import(new URL('chart_data.js', base).href);
            const ends = [[-1.7e308, 1.7e308], [1.7e308, 1.7e308], [0, 1.7e308], [5e-324, 5e-324], [1e-320, 2e-320]];
            return ends.flatMap(([min, max]) => [false, true].filter((isLog) => !isLog || min > 0).map((isLog) => {
                const [low, high] = yRange(min, max, {isLog});
                return Number.isFinite(high - low) && high > low && (!isLog || low > 0);
            }));
        }""")
        self.assertEqual(out, [True] * len(out))

    def labels(self, page, lines, axis="labels", **options):
        """The labels of the y axis (or of `axis`) of charts of these values."""
        return page.evaluate("async ([lines, axis, asked]) => {" + UNTIL + """
            const base = document.querySelector('link[rel=modulepreload]').href;
            const {lineChart} = await import(new URL('chart.js', base).href);
            const {bytes} = await import(new URL('format.js', base).href);
            const options = asked.isBytes ? {...asked, format: bytes} : asked;
            const place = document.createElement('div');
            document.querySelector('main').prepend(place);
            const found = [];
            for (const y of lines) {
                const chart = lineChart(place, {title: "labels", ...options});
                chart.update({x: Float64Array.from(y, (_, i) => i), lines: [{trial: 1, y: Float64Array.from(y)}], isExact: true});
                await until(() => chart.drawn()?.labels);
                found.push([...chart.drawn()[axis]]);
                chart.destroy();
            }
            place.remove();
            return found;
        }""", [lines, axis, options])

    def test_an_axis_of_steps_has_whole_numbers(self):
        page = self.metrics("search")
        self.assertEqual(self.labels(page, [[5, 6, 7]], axis="xLabels"), [["0", "1", "2"]])
        self.assertIn("0.2", self.labels(page, [[5, 6, 7]], axis="xLabels", xName="epoch")[0])

    def test_an_axis_has_labels_whatever_a_training_reports(self):
        page = self.metrics("search")
        lines = [[-1e308, 1e308], [1e308, 1.1e308], [0, 1e308], [-1e307, -2e307], [2e18, 4e18], [2.5e20, 2.51e20], [1e-300, 3e-300], [1e-30, 1e-29], [123456, 123458], [1, 1], [0, 0], [-5, 12]]
        for options in [{}, {"isLogY": True}]:
            for line, labels in zip(lines, self.labels(page, lines, **options)):
                if options and line[0] <= 0:
                    continue
                self.assertGreaterEqual(len(labels), 2, (options, line, labels))
                self.assertEqual(len(set(labels)), len(labels), (options, line, labels))
        self.assertEqual(self.labels(page, [[-5, 12]]), [["−5", "0", "5", "10"]])
        self.assertIn("123.456k", self.labels(page, [[123456, 123458]])[0])

    def test_an_axis_has_labels_when_numbers_have_changed(self):
        page = self.metrics("search")
        out = page.evaluate("async () => {" + UNTIL + """
            const base = document.querySelector('link[rel=modulepreload]').href;
            const {lineChart} = await import(new URL('chart.js', base).href);
            const place = document.createElement('div');
            document.querySelector('main').prepend(place);
            const chart = lineChart(place, {title: "labels"});
            const found = [];
            for (const greatest of [4, 40, 400]) {
                const before = chart.node.dataset.drawn;
                chart.update({x: Float64Array.of(0, 1), lines: [{trial: 1, y: Float64Array.of(0, greatest)}], isExact: true});
                await until(() => chart.node.dataset.drawn !== before);
                await new Promise((done) => requestAnimationFrame(done));
                found.push(chart.drawn().labels && chart.drawn().labels.at(-1));
            }
            chart.zoom([0.25, 0.75]);
            await new Promise((done) => requestAnimationFrame(done));
            found.push(Boolean(chart.drawn().labels));
            chart.destroy();
            return found;
        }""")
        self.assertEqual(out, ["4", "40", "400", True])

    def test_neighbours_at_an_axis_of_bytes_differ(self):
        page = self.metrics("search")
        lines = [[23.1e9, 23.4e9], [23e9, 23e9 + 4e6], [0, 3], [1e6, 5e9], [1500, 1500.5]]
        for line, labels in zip(lines, self.labels(page, lines, isBytes=True)):
            self.assertGreaterEqual(len(labels), 2, (line, labels))
            self.assertEqual(len(set(labels)), len(labels), (line, labels))
        self.assertIn("23.2 GB", self.labels(page, lines, isBytes=True)[0])

    def test_nan_and_infinities_are_marked_and_counted(self):
        page = self.metrics("numbers")
        loss = self.chart(page, "loss", "training")
        expect(loss.get_by_text("2 values are NaN or infinite")).to_be_visible()
        broken = self.chart(page, "broken")
        expect(broken.get_by_text("3 values are NaN")).to_be_visible()
        page.get_by_text("1 non-numeric metric").click()
        expect(page.get_by_text("a text")).to_be_visible()

    def test_a_metric_of_text_has_no_chart_in_an_experiment(self):
        page = self.page_at(f"/det/experiments/{self.testbed.ids['numbers']}/metrics")
        self.chart(page, "memory")
        expect(page.locator("figure.chart").filter(has_text="note")).to_have_count(0)
        page.get_by_text("1 non-numeric metric").click()
        expect(page.get_by_role("row", name="system.note string")).to_be_visible()

    def test_a_trial_says_its_epochs(self):
        page = self.metrics("numbers")
        loss = self.chart(page, "loss", "training")
        page.get_by_role("combobox", name="Horizontal axis").select_option("epoch")
        expect(page).to_have_url(re.compile("x=epoch"))
        page.wait_for_function("(node) => node.chart.drawn().x.max < 3", arg=loss.element_handle())
        page.get_by_role("combobox", name="Horizontal axis").select_option("time")
        page.wait_for_function("(node) => node.chart.drawn().x.min > 1e9", arg=loss.element_handle())

    def test_keys_move_the_cursor_and_values_are_announced(self):
        page = self.metrics("search")
        loss = self.chart(page, "loss")
        plot = loss.get_by_role("application")
        plot.focus()
        page.keyboard.press("ArrowRight")
        expect(loss.locator("[aria-live]")).to_have_text(re.compile(r"^steps 100: \d"))
        page.keyboard.press("ArrowRight")
        expect(loss.locator("[aria-live]")).to_have_text(re.compile(r"^steps 200: \d"))
        page.keyboard.press("End")
        expect(loss.locator("[aria-live]")).to_have_text(re.compile(r"^steps 800: \d"))
        page.keyboard.press("+")
        expect(page).to_have_url(re.compile("from="))
        page.keyboard.press("Escape")
        expect(page).not_to_have_url(re.compile("from="))

    def test_a_chart_is_also_a_table_and_a_file(self):
        page = self.metrics("search")
        loss = self.chart(page, "loss")
        loss.get_by_role("button", name="loss as table").focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="loss")
        expect(dialog.get_by_role("row")).to_have_count(9)
        expect(dialog.get_by_role("rowheader", name="100", exact=True)).to_be_visible()
        with page.expect_download() as saved:
            dialog.get_by_role("button", name="Save as CSV").click()
        with open(saved.value.path()) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "steps,loss")
        self.assertEqual(len(lines), 9)
        page.keyboard.press("Escape")
        loss.get_by_role("button", name="More actions for loss").click()
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name="Save as PNG").click()
        with open(saved.value.path(), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_other_colours_when_the_theme_changes(self):
        page = self.metrics("search")
        loss = self.chart(page, "loss")
        pixels = "(node) => { const c = node.querySelector('canvas'); return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].reduce((sum, v, i) => (sum + v * (i % 97)) % 1e9, 0); }"
        before = loss.evaluate(pixels)
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"([node, before]) => ({pixels})(node) !== before", arg=[loss.element_handle(), before])

    def test_a_thousand_lines_are_drawn_and_pointed_at(self):
        page = self.metrics("search")
        keys = page.evaluate("async () => {" + UNTIL + """
            const base = document.querySelector('link[rel=modulepreload]').href;
            const {lineChart} = await import(new URL('chart.js', base).href);
            const place = document.createElement('div');
            document.querySelector('main').prepend(place);
            const x = Float64Array.from({length: 200}, (_, i) => i);
            const lines = Array.from({length: 1000}, (_, trial) => ({trial, y: x.map((v) => Math.sin(v / 30 + trial) + trial / 100)}));
            const chart = lineChart(place, {title: "many", height: 300});
            chart.update({x, lines, isExact: true});
            await until(() => chart.drawn());
            const over = place.querySelector('.u-over');
            const box = over.getBoundingClientRect();
            over.dispatchEvent(new MouseEvent('mouseenter', {clientX: box.left + 60, clientY: box.top + 60, view: window}));
            over.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: box.left + 60, clientY: box.top + 60, view: window}));
            await until(() => chart.drawn().pointed >= 0);
            const keys = place.querySelectorAll('.chart-key').length;
            chart.destroy();
            return keys;
        }""")
        self.assertEqual(keys, 12)

    def test_of_twelve_thousand_metrics_only_visible_ones_are_read(self):
        script = "#!/bin/sh\nfor step in 1 2; do\n    i=0\n    set --\n" \
            "    eval set -- $(awk -v s=$step 'BEGIN { for (i = 0; i < 12000; i++) printf \"layer%05d/norm=%d \", i, i * s }')\n" \
            "    det report --steps $step \"$@\"\ndone\n"
        made = self.testbed.create("many metrics", script)
        self.testbed.wait(made, "COMPLETED")
        trial = self.testbed.trials(made)[0]
        context = self.context()
        asked = []
        context.on("request", lambda request: "/det/series" in request.url and asked.append(request.url))
        page = context.new_page()
        page.goto(f"{self.testbed.url}/det/trials/{trial}/metrics")
        self.filled(page)
        expect(page.get_by_text("12\u202f000 metrics")).to_be_visible()
        first = self.chart(page, "layer00000/norm")
        expect(page.locator("figure.chart")).to_have_count(60)
        names = sum(url.count("metrics=") for url in asked)
        self.assertLess(names, 60, "only visible charts are read")
        page.get_by_role("searchbox", name="Search metrics by name").fill("layer11999")
        expect(page.locator("figure.chart")).to_have_count(1)
        expect(page).to_have_url(re.compile("q=layer11999"))
        self.assertEqual(self.evaluate(self.chart(page, "layer11999/norm"), "chart.drawn().x.max"), 2)
        self.assertFalse(first.is_visible())
        page.get_by_role("searchbox", name="Search metrics by name").fill("")
        page.get_by_role("button", name=re.compile("Show 60 more of")).click()
        expect(page.locator("figure.chart")).to_have_count(120)
        page.get_by_role("button", name="Select …").click()
        dialog = page.get_by_role("dialog", name="Select metrics")
        dialog.get_by_role("searchbox").fill("00007")
        dialog.get_by_role("checkbox").check()
        dialog.get_by_role("button", name="Show selected").click()
        expect(page.locator("figure.chart")).to_have_count(1)
        self.assertIn("metric=training.layer00007", page.url)
