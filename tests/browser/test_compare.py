# SPDX-License-Identifier: Apache-2.0
"""The comparison of experiments and of trials."""
import json
import re

from harness import BrowserTest, expect


class Compare(BrowserTest):
    def test_experiments_stand_side_by_side(self):
        search, grid, numbers = (self.testbed.ids[name] for name in ("search", "grid", "numbers"))
        page = self.page_at(f"/det/compare?experiments={search},{grid},{numbers}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare 3 experiments")
        overview = page.get_by_role("region", name="Overview")
        expect(overview.get_by_role("columnheader")).to_have_count(3)
        expect(overview.get_by_role("row", name=re.compile("^State"))).to_contain_text("COMPLETED")
        hyper = page.get_by_role("region", name="Hyperparameters")
        expect(hyper.get_by_role("row", name=re.compile("^depth"))).to_have_class(re.compile("differs"))
        config = page.get_by_role("region", name="Configuration")
        expect(config.get_by_role("row", name=re.compile("^searcher.name"))).to_be_visible()
        expect(config.get_by_role("row", name=re.compile("^max_restarts"))).to_have_count(0)
        page.get_by_label("Only differences").uncheck()
        expect(config.get_by_role("row", name=re.compile("^max_restarts"))).to_be_visible()
        expect(page).to_have_url(re.compile("all=1"))
        page.get_by_label("Only differences").check()
        expect(page.locator("[data-metric='validation.loss'] figure[data-drawn]")).to_be_visible()
        self.looks(page, "compare")

    def test_charts_lie_over_one_another_and_narrow(self):
        trials = self.testbed.trials("search")
        page = self.page_at(f"/det/compare?trials={','.join(map(str, trials))}")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Compare {len(trials)} trials")
        chart = page.locator("[data-metric='validation.validation_loss']")
        expect(chart.locator("figure[data-drawn]")).to_be_visible()
        expect(page.locator("[data-metric='training.loss'] figure[data-drawn]")).to_be_visible()
        page.get_by_label("Search metrics by name").fill("accuracy")
        expect(page.locator("[data-metric]")).to_have_count(1)
        expect(page).to_have_url(re.compile("metrics=accuracy"))
        page.get_by_label("Search metrics by name").fill("no such thing")
        expect(page.get_by_text("No metric name matches.")).to_be_visible()
        page.get_by_label("Search metrics by name").fill("")
        page.get_by_label("Horizontal axis").select_option("time")
        expect(page).to_have_url(re.compile("x=time"))
        expect(page.get_by_role("button", name="log x")).to_be_disabled()
        expect(chart.locator("figure[data-drawn]")).to_be_visible()

    def scales(self, page, metric):
        figure = page.locator(f"[data-metric='{metric}'] figure[data-drawn]")
        expect(figure).to_be_visible()
        return figure.evaluate("(node) => [node.chart.drawn().x.distr, node.chart.drawn().y.distr]")

    def test_both_axes_may_be_logarithmic_as_on_other_pages(self):
        address = f"/det/compare?experiments={self.testbed.ids['search']},{self.testbed.ids['grid']}"
        page = self.page_at(address)
        self.assertEqual(self.scales(page, "training.loss"), [1, 1])
        page.get_by_role("button", name="log x").click()
        page.get_by_role("button", name="log y").click()
        expect(page).to_have_url(re.compile("logx=1.*logy=1"))
        self.assertEqual(self.scales(page, "training.loss"), [3, 3])
        page.get_by_role("slider", name="Smoothing").fill("0.5")
        expect(page).to_have_url(re.compile("smooth=0.5"))
        expect(page.locator(".smooth-value")).to_have_text("0.50")
        again = self.page_at(address + "&logx=1")
        self.assertEqual(self.scales(again, "training.loss"), [3, 1])

    def test_one_legend_serves_all_charts(self):
        trials = self.testbed.trials("search")
        page = self.page_at(f"/det/compare?trials={','.join(map(str, trials))}")
        legend = page.get_by_role("group", name="Legend")
        expect(legend.get_by_role("button")).to_have_count(len(trials))
        figures = page.locator("figure[data-drawn]")
        expect(figures.nth(1)).to_be_visible()
        expect(page.locator("figure .chart-key")).to_have_count(0)
        hidden = "(all) => all.map((node) => node.chart.drawn().hidden.join())"
        legend.get_by_role("button", name=f"trial {trials[1]} of").click()
        self.assertEqual(set(figures.evaluate_all(hidden)), {str(trials[1])})
        expect(legend.get_by_role("button", name=f"trial {trials[1]} of")).to_have_attribute("aria-pressed", "false")
        legend.get_by_role("button", name=f"trial {trials[0]} of").click(modifiers=["Shift"])  # only this one
        self.assertEqual({len(one.split(",")) for one in figures.evaluate_all(hidden)}, {len(trials) - 1})
        legend.get_by_role("button", name=f"trial {trials[0]} of").click(modifiers=["Shift"])
        self.assertEqual(set(figures.evaluate_all(hidden)), {""})
        legend.get_by_role("button", name=f"trial {trials[2]} of").hover()
        self.assertEqual(set(figures.evaluate_all("(all) => all.map((node) => node.chart.drawn().pointed)")), {2})

    def test_lines_differ_in_colour_or_dashes(self):
        trials = self.testbed.trials("search") + self.testbed.trials("grid") + self.testbed.trials("ranks")
        page = self.page_at(f"/det/compare?trials={','.join(map(str, trials))}")
        page.get_by_role("button", name="and 3 more").click()
        swatches = page.get_by_role("group", name="Legend").locator(".chart-swatch")
        expect(swatches).to_have_count(15)
        looks = swatches.evaluate_all("(all) => all.map((one) => [getComputedStyle(one).stroke, one.firstChild.getAttribute('stroke-dasharray')].join())")
        self.assertEqual(len(set(looks)), 15, looks)
        self.assertEqual([look.split(",")[-1] == "" for look in looks], [True] * 8 + [False] * 7)

    def test_names_of_rows_are_not_broken_within_words(self):
        ids = [self.testbed.ids[name] for name in ("search", "grid", "numbers")]
        for width in (1280, 390):
            page = self.page_at(f"/det/compare?all=1&experiments={','.join(map(str, ids))}", viewport={"width": width, "height": 900})
            expect(page.get_by_role("rowheader", name="reproducibility.experiment_seed")).to_be_visible()
            broken = page.locator(".side-by-side tbody th").evaluate_all("""(all) => all.flatMap((cell) => {
                const found = [];
                const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
                while (walker.nextNode()) {
                    for (const word of walker.currentNode.data.matchAll(/[^ ]+/g)) {
                        const range = document.createRange();
                        range.setStart(walker.currentNode, word.index);
                        range.setEnd(walker.currentNode, word.index + word[0].length);
                        if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) found.push(word[0]);
                    }
                }
                return found;
            })""")
            self.assertEqual(broken, [], width)
            self.fits(page)

    def test_seeds_have_no_separators(self):
        config = {"entrypoint": "true", "searcher": {"name": "single", "metric": "loss"}}
        made = [self.testbed.api("POST", "/api/v1/experiments", {"config": json.dumps({**config, "name": f"seed-{i}", "hyperparameters": {"seed": 1234567 + i},
                "reproducibility": {"experiment_seed": 1763400000 + i}})})["experiment"]["id"] for i in range(2)]
        self.addCleanup(self.testbed.remove, made)
        page = self.page_at(f"/det/compare?experiments={made[0]},{made[1]}")
        row = page.get_by_role("region", name="Configuration").get_by_role("row", name=re.compile("^reproducibility.experiment_seed"))
        expect(row.get_by_role("cell")).to_have_text(["1763400000", "1763400001"])
        row = page.get_by_role("region", name="Hyperparameters").get_by_role("row", name=re.compile("^seed"))
        expect(row.get_by_role("cell")).to_have_text(["1234567", "1234568"])

    def test_one_is_left_out_and_another_added(self):
        search, grid = self.testbed.ids["search"], self.testbed.ids["grid"]
        page = self.page_at(f"/det/compare?experiments={search},{grid}")
        page.get_by_role("region", name="Overview").get_by_role("button", name=f"Remove {search}").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare 1 experiment")
        page.get_by_label("IDs of experiments to add").fill(str(self.testbed.ids["ranks"]))
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare 2 experiments")
        expect(page).to_have_url(re.compile(f"experiments={grid}(,|%2C){self.testbed.ids['ranks']}"))

    def test_missing_experiments_are_named_and_markup_is_text(self):
        markup = self.testbed.ids["markup"]
        page = self.page_at(f"/det/compare?experiments={markup},999999,abc,-1")
        expect(page.get_by_role("alert")).to_have_text("Not found: 999999.")
        expect(page.get_by_role("region", name="Overview")).to_contain_text("<img src=x")
        self.assertEqual(page.locator("main img, main script").count(), 0)
        page.goto(self.testbed.url + "/det/compare")
        self.filled(page)
        expect(page.get_by_text("Nothing is selected.")).to_be_visible()
        page.goto(self.testbed.url + "/det/compare?experiments=999999")
        self.filled(page)
        expect(page.get_by_text("None of these experiments exists.")).to_be_visible()

    def test_a_hundred_experiments_are_no_trouble(self):
        config = {"entrypoint": "true", "searcher": {"name": "single", "metric": "loss"}}
        made = [self.testbed.api("POST", "/api/v1/experiments", {"config": json.dumps({**config, "name": f"hundred-{i}", "hyperparameters": {"n": i}})})["experiment"]["id"]
                for i in range(100)]
        self.addCleanup(self.testbed.remove, made)
        page = self.page_at("/det/compare?experiments=" + ",".join(map(str, made)))
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare 100 experiments")
        expect(page.get_by_role("region", name="Overview").get_by_role("columnheader")).to_have_count(100)
        expect(page.get_by_role("region", name="Hyperparameters").get_by_role("row", name=re.compile("^n"))).to_be_visible()
        self.fits(page)

    def test_a_running_trial_draws_on(self):
        hold = self.testbed.hold("compare")
        id_ = self.testbed.create("compare-live", "#!/bin/sh\ndet report --steps 1 --validation loss=3\n"
                                f"while [ ! -e {hold} ]; do sleep 0.1; done\ndet report --steps 2 --validation loss=1.5\n")
        page = self.page_at(f"/det/compare?experiments={id_}")
        best = page.get_by_role("region", name="Overview").get_by_role("row", name=re.compile("^Best metric"))
        expect(best).to_contain_text("3")
        self.testbed.release("compare")
        expect(best).to_contain_text("1.5")
        expect(page.get_by_role("region", name="Overview")).to_contain_text("COMPLETED")
