# SPDX-License-Identifier: Apache-2.0
"""The page of an experiment: every view with real data, every action, forks with mistakes, two writers at once."""
import re

from harness import BrowserTest, expect
from testbed import MARKUP

QUICK = """#!/bin/sh
det report --steps 10 --validation loss=0.5
mkdir -p model && echo 1 >model/weights.txt && det checkpoint save --steps 10 --wait model
"""
WAITING = """#!/bin/sh
det report --steps 10 --validation loss=0.5
while [ ! -e %s ]; do sleep 0.05; done
"""
TABS = ("Overview", "Metrics", "Logs", "Trials", "Checkpoints", "Configuration", "Code", "Notes", "Lineage")  # of a single trial


class Experiment(BrowserTest):
    def at(self, name, tab="", **options):
        id_ = self.testbed.ids.get(name, name)
        page = self.page_at(f"/det/experiments/{id_}" + (f"/{tab}" if tab else ""), **options)
        if tab:
            expect(page.locator(f".view[data-tab='{tab.split('?')[0]}']")).to_be_attached()
        return page

    def made(self, name, script=QUICK, config=None, **options):
        """Creates an experiment for this test and waits for its end."""
        id_ = self.testbed.create(name, script, config, **options)
        if not options.get("paused"):
            self.testbed.wait(id_)
        return id_

    def open_tab(self, page, label):
        page.get_by_role("navigation", name="Views").get_by_role("link", name=re.compile("^" + label)).click()
        expect(page.locator(f".view[data-tab='{label.lower()}']")).to_be_attached()

    def more(self, page, label):
        page.locator(".actions").get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name=label, exact=True).click()

    # ---- views

    def test_header_overview_metrics_configuration_and_code(self):
        page = self.at("search", "overview")
        head = page.locator(".experiment-head")
        expect(head.get_by_role("heading", level=1)).to_have_text("search")
        expect(head).to_contain_text("COMPLETED")
        expect(head).to_contain_text("a random search over the learning rate")
        expect(head).to_contain_text("A random search of 6 trials, 4 at a time, for the smallest validation_loss.")
        expect(head).to_contain_text("by determined")
        expect(head.locator(".chip")).to_have_text([re.compile("mnist"), re.compile("nightly")])
        best = self.testbed.experiment(self.testbed.ids["search"])["bestTrialId"]
        expect(head.get_by_role("link", name=f"trial {best}")).to_have_attribute("href", f"/det/trials/{best}")
        expect(page.locator("figure[data-drawn]")).to_have_count(2)
        expect(page.locator(".view")).to_contain_text("Best trial")
        page.get_by_role("combobox", name="Metric").select_option("training.loss")
        expect(page).to_have_url(re.compile("metric=training.loss"))
        expect(page.locator("figure[data-drawn]").first).to_contain_text("loss")
        self.looks(page, "experiment-overview")

        self.open_tab(page, "Metrics")
        expect(page.get_by_role("heading", name="training", exact=True)).to_be_visible()
        expect(page.locator("figure[data-drawn]")).to_have_count(4)
        page.get_by_role("searchbox", name="Search metrics by name").fill("accuracy")
        expect(page.locator("figure[data-drawn]")).to_have_count(1)
        self.looks(page, "experiment-metrics")

        self.open_tab(page, "Configuration")
        text = page.get_by_role("region", name="Configuration")
        expect(text).to_contain_text("max_concurrent_trials: 4")
        expect(text).to_contain_text("checkpoint_storage:")
        self.looks(page, "experiment-configuration")
        page.get_by_role("button", name="As submitted").click()
        expect(text).not_to_contain_text("checkpoint_storage:")
        expect(page).to_have_url(re.compile("as=written"))

        self.open_tab(page, "Code")
        expect(page.get_by_role("button", name="run.sh")).to_have_attribute("aria-current", "true")
        expect(page.locator(".file-view")).to_contain_text("det hparam lr")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download all").click()
        self.assertEqual(download.value.suggested_filename, f"experiment-{self.testbed.ids['search']}.tar.gz")
        self.looks(page, "experiment-code")

    def test_python_is_coloured(self):
        text = "@mark\nclass A:\n    \"\"\"first # no comment\n    def not_code\n    \"\"\"\n    def f(self, x=1e-3):  # why\n        return x.match + 'a \\' b' if x else None\n"
        id_ = self.made("python", "#!/bin/sh\n", {"entrypoint": "true"}, paused=True, files={"model.py": text, "<b>.txt": "plain"})
        page = self.at(id_, "code?file=model.py")
        view = page.get_by_role("region", name="model.py")
        expect(view.locator(".source")).to_have_text(text)
        self.assertEqual(view.locator(".source").inner_text().strip(), text.strip())
        marks = {kind: view.locator(f".y-{kind}").all_inner_texts() for kind in ("name", "key", "text", "number", "comment")}
        self.assertEqual(marks, {"name": ["@mark", "A", "f"], "key": ["class", "def", "return", "if", "else"], "comment": ["# why"], "number": ["self", "1e-3", "None"],
                                 "text": ['"""first # no comment', "    def not_code", '    """', "'a \\' b'"]})
        self.looks(page, "experiment-python")

    def test_trials_sort_filter_and_lead_on(self):
        page = self.at("grid", "trials")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(8)
        page.get_by_role("button", name="Best loss").click()
        values = [float(text) for text in page.locator("tbody td:nth-child(4)").all_inner_texts()]
        self.assertEqual(values, sorted(values))
        page.get_by_role("button", name=re.compile("^Best loss")).click()
        expect(page).to_have_url(re.compile("sort=-best"))
        self.assertEqual([float(text) for text in page.locator("tbody td:nth-child(4)").all_inner_texts()], sorted(values)[::-1])
        expect(page.get_by_role("columnheader", name="kind")).to_be_visible()
        page.get_by_role("checkbox", name=re.compile("^Select [0-9]")).nth(0).check()
        expect(page.get_by_role("button", name="Compare", exact=True)).to_be_disabled()
        page.get_by_role("checkbox", name=re.compile("^Select [0-9]")).nth(1).check()
        expect(page.get_by_role("button", name="Compare", exact=True)).to_be_enabled()
        self.looks(page, "experiment-trials")
        page.get_by_role("combobox", name="State").select_option("COMPLETED")
        expect(rows).to_have_count(8)
        trial = rows.first.get_by_role("link").inner_text()
        rows.first.locator("td").nth(4).click()
        expect(page).to_have_url(re.compile(f"/det/trials/{trial}$"))

    def test_trials_are_queried_and_have_metrics_as_columns(self):
        self.allow(r"status of 400 .*query=")
        page = self.at("search", "trials")
        expect(page.locator("tbody tr")).to_have_count(6)
        page.get_by_role("button", name="Columns", exact=True).click()
        page.get_by_role("checkbox", name="accuracy").check()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="accuracy").click()
        expect(page.locator("th[aria-sort=ascending]")).to_have_text(re.compile("accuracy"))
        losses = sorted(trial["bestValidation"]["metrics"]["avgMetrics"]["validation_loss"]
                        for trial in self.testbed.api("GET", f"/api/v1/experiments/{self.testbed.ids['search']}/trials")["trials"])
        line = page.get_by_role("combobox", name="Query trials")
        line.fill(f"validation_loss <= {losses[1]} and state:COMPLETED")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(page.locator("tbody tr")).to_have_count(2)
        expect(page).to_have_url(re.compile("query=validation_loss"))
        self.looks(page, "trials-query")
        page.reload()
        expect(page.locator("tbody tr")).to_have_count(2)
        line.fill("accurcy > 0")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("Column 'accurcy' at character 1: there is no such column; did you mean 'accuracy'?")
        expect(page.locator("tbody tr")).to_have_count(6)
        line.fill("id < 0")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(page.get_by_text("No trials match.")).to_be_visible()
        self.open_tab(page, "Overview")
        self.open_tab(page, "Trials")
        expect(page.locator("tbody tr")).to_have_count(6)

    def test_the_picture_of_a_search_is_brushed(self):
        page = self.at("grid", "search")
        picture = page.locator(".parallel")
        expect(picture).to_have_attribute("data-drawn", re.compile("[0-9]"))
        expect(page.locator(".importance tbody tr")).to_have_count(3)
        expect(page.locator(".view")).to_contain_text("Few trials.")
        expect(page.locator(".scatters .scatter[data-drawn]")).to_have_count(3)
        self.looks(page, "experiment-search")
        strip = page.get_by_role("slider", name="depth")
        strip.scroll_into_view_if_needed()
        box = strip.bounding_box()
        x = box["x"] + box["width"] / 2
        page.mouse.move(x, box["y"] + box["height"] * 0.98)
        page.mouse.down()
        page.mouse.move(x, box["y"] + box["height"] * 0.6, steps=5)
        page.mouse.up()
        expect(page.locator(".view")).to_contain_text("4 of 8 trials inside")
        expect(page.get_by_role("row")).to_have_count(4 + 1 + 4)  # trials, their head, importance
        expect(page).to_have_url(re.compile("brush=depth"))
        expect(strip).to_have_attribute("aria-valuetext", re.compile("4 of 8 trials"))
        self.shot(page, "experiment-search-brushed")
        page.reload()
        self.filled(page)
        expect(page.locator(".view")).to_contain_text("4 of 8 trials inside")
        page.get_by_role("button", name="Show all").click()
        expect(page.get_by_role("button", name="Show all")).to_be_hidden()
        expect(page).not_to_have_url(re.compile("brush="))

    def test_a_brush_needs_no_mouse(self):
        page = self.at("grid", "search")
        page.locator(".tabs a").last.focus()
        strip = self.keyboard_reaches(page, ".strip[aria-label='kind']")
        page.keyboard.press("ArrowUp")
        expect(page.locator(".view")).to_contain_text("4 of 8 trials inside")
        expect(strip).to_have_attribute("aria-valuetext", "tanh, 4 of 8 trials")
        page.keyboard.press("ArrowDown")
        expect(strip).to_have_attribute("aria-valuetext", "relu, 4 of 8 trials")
        page.keyboard.press("Shift+ArrowUp")
        expect(strip).to_have_attribute("aria-valuetext", "all values, 8 of 8 trials")
        page.keyboard.press("Home")
        expect(strip).to_have_attribute("aria-valuetext", "tanh, 4 of 8 trials")
        page.keyboard.press("Escape")
        expect(strip).to_have_attribute("aria-valuetext", "all values, 8 of 8 trials")
        page.keyboard.press("ArrowRight")
        self.assertNotEqual(page.evaluate("document.activeElement.getAttribute('aria-label')"), "kind")

    def test_a_point_shows_its_trial_and_opens_it(self):
        page = self.at("search", "search")
        dots = page.locator(".scatters .scatter[data-drawn]").first
        dots.scroll_into_view_if_needed()
        box = dots.bounding_box()
        tip = dots.locator(".picture-tip")
        for x in range(40, int(box["width"]), 6):
            for y in range(8, int(box["height"]) - 30, 8):
                page.mouse.move(box["x"] + x, box["y"] + y)
                if tip.is_visible():
                    expect(tip).to_contain_text("validation_loss")
                    page.mouse.down()
                    page.mouse.up()
                    expect(page).to_have_url(re.compile("/det/trials/[0-9]+$"))
                    return
        self.fail("no point shows a tooltip")

    def test_a_single_trial_has_its_log_in_a_tab_and_no_search(self):
        script = "#!/bin/sh\necho before\nwhile [ ! -e %s ]; do sleep 0.05; done\necho after\n" % self.testbed.hold("tab-log")
        id_ = self.testbed.create("logs", script)
        page = self.at(id_)
        tabs = page.get_by_role("navigation", name="Views").get_by_role("link")
        expect(tabs).to_have_text([re.compile("^" + name) for name in TABS])
        self.open_tab(page, "Logs")
        lines = page.get_by_role("log")
        expect(lines).to_contain_text("before")
        self.assertEqual(page.request.get(page.url).status, 200)
        self.testbed.release("tab-log")
        expect(lines).to_contain_text("after")  # the stream of the page reports new lines
        expect(page.locator(".experiment-head .badge").first).to_have_text("COMPLETED")
        self.looks(page, "experiment-logs")
        self.open_tab(page, "Code")
        expect(lines).to_have_count(0)
        page.go_back()
        self.filled(page)
        expect(lines).to_contain_text("after")

    def test_a_search_has_no_log_of_its_own(self):
        page = self.at("grid", "logs")
        expect(page.get_by_role("navigation", name="Views").get_by_role("link", name="Logs")).to_have_count(0)
        expect(page.get_by_role("navigation", name="Views").get_by_role("link", name="Search")).to_be_visible()
        page.get_by_role("link", name="Choose a trial").click()
        expect(page.locator("tbody tr")).to_have_count(8)

    def test_checkpoints_are_listed_downloaded_and_deleted(self):
        id_ = self.made("saves", QUICK)
        page = self.at(id_, "checkpoints")
        expect(page.locator("tbody tr")).to_have_count(1)
        link = page.get_by_role("link", name=re.compile("^Download checkpoint"))
        self.assertRegex(link.get_attribute("href"), r"^/checkpoints/[0-9a-f-]{36}\?format=tgz$")
        self.looks(page, "experiment-checkpoints")
        page.get_by_role("button", name=re.compile("^Delete checkpoint")).click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.locator("tbody")).to_contain_text("COMPLETED")
        page.get_by_role("button", name=re.compile("^Delete checkpoint")).click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("All checkpoints were deleted.")).to_be_visible()

    # ---- editing

    def test_name_description_and_labels_change_in_place_whatever_is_in_them(self):
        id_ = self.made("plain", paused=True)
        page = self.at(id_)
        page.get_by_role("button", name="Edit name").click()
        page.get_by_role("textbox", name="Name").fill(MARKUP)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
        page.get_by_role("button", name="Edit description").click()
        page.get_by_role("textbox", name="Description").fill("not this")
        page.keyboard.press("Escape")
        expect(page.locator(".experiment-head")).to_contain_text("No description")
        page.get_by_role("button", name="Edit description").click()
        page.get_by_role("textbox", name="Description").fill("<b>bold</b>")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".experiment-head")).to_contain_text("<b>bold</b>")
        expect(page.locator(".facts-line")).to_contain_text("has not begun")  # it was created paused
        page.get_by_role("button", name="Add label").click()
        page.get_by_role("textbox", name="New label").fill("a/b & <i>")
        page.keyboard.press("Enter")
        expect(page.locator(".labels .chip")).to_have_text(re.compile(re.escape("a/b & <i>")))
        page.get_by_role("button", name="Remove a/b & <i>").click()
        expect(page.locator(".labels .chip")).to_have_count(0)
        row = self.testbed.experiment(id_)
        self.assertEqual((row["name"], row["description"], row["labels"]), (MARKUP, "<b>bold</b>", []))

    def test_a_change_takes_neither_the_click_nor_the_focus(self):
        id_ = self.made("pressed", paused=True)
        page = self.at(id_)
        name = page.get_by_role("button", name="Edit name")
        name.hover()
        page.mouse.down()
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"description": "changed meanwhile"})
        expect(page.locator(".experiment-head")).to_contain_text("changed meanwhile")
        page.mouse.up()
        expect(page.get_by_role("textbox", name="Name")).to_be_focused()
        page.keyboard.press("Escape")
        expect(name).to_be_focused()
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"name": "another name"})
        expect(page.get_by_role("heading", level=1)).to_have_text("another name")
        expect(name).to_be_focused()

    def test_a_label_that_is_added_is_drawn_once(self):
        id_ = self.made("labelled", paused=True)
        page = self.at(id_)
        reload = self.held(page, re.compile(f"/api/v1/experiments/{id_}$"))
        page.get_by_role("button", name="Add label").click()
        page.get_by_role("textbox", name="New label").fill("first")
        page.keyboard.press("Enter")
        remove = page.get_by_role("button", name="Remove first")
        remove.hover()
        page.mouse.down()
        with page.expect_event("requestfinished", lambda request: request.url.endswith(f"/experiments/{id_}")):
            self.comes(page, reload).arrive()
        self.settled(page)
        page.mouse.up()
        expect(remove).to_have_count(0)

    def test_an_answer_that_is_late_does_not_bring_back_what_was(self):
        id_ = self.made("overtaken")
        page = self.listening(f"/det/experiments/{id_}/notes")
        address = re.compile(f"/api/v1/experiments/{id_}$")
        reload = self.held(page, address)
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"description": "as it was"})
        late = self.comes(page, reload)
        heard = page.evaluate("heard")
        self.more(page, "Archive")
        page.wait_for_function("(before) => heard > before", arg=heard)
        expect(page.get_by_text("Archived: hidden from lists.")).to_be_visible()
        self.settled(page)
        with page.expect_event("requestfinished", lambda request: address.search(request.url)):
            late.arrive()
        self.settled(page)
        expect(page.locator(".experiment-head .chip", has_text="archived")).to_be_visible()

    def test_markup_stays_text_everywhere(self):
        page = self.at("markup", "overview")
        expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
        expect(page.locator("figure[data-drawn]").first).to_be_visible()
        for tab in TABS:
            self.open_tab(page, tab)
            self.assertEqual(page.locator("main img, main script, main b b").count(), 0, tab)

    def test_notes_are_written_and_a_second_writer_is_noticed(self):
        id_ = self.made("noted", paused=True)
        page = self.at(id_, "notes")
        page.get_by_role("button", name="Add notes").click()
        area = page.get_by_role("textbox", name="Notes")
        area.fill("# Tried\n\n- <script>alert(1)</script>\n- `lr` 0.1\n\n" + "x" * 9900)
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".prose h2")).to_have_text("Tried")
        expect(page.locator(".prose li").first).to_have_text("<script>alert(1)</script>")
        self.assertTrue(self.testbed.experiment(id_)["notes"].endswith("x" * 9900))
        self.looks(page, "experiment-notes")
        page.get_by_role("button", name="Edit", exact=True).click()
        area.fill("y" * 10001)
        expect(page.locator(".notes")).to_contain_text("1 too many")
        area.fill("mine")
        page.locator(".tabs a", has_text="Code").click()  # unsaved notes are kept
        expect(area).to_have_count(0)
        page.locator(".tabs a", has_text="Notes").click()
        expect(area).to_have_value("mine")
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"notes": "theirs"})
        expect(page.get_by_role("alert")).to_contain_text("Another user changed these notes")
        page.get_by_text("Show their text").click()
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"description": "not about the notes"})
        expect(page.locator(".experiment-head")).to_contain_text("not about the notes")
        expect(page.get_by_role("alert").locator("pre")).to_be_visible()  # still expanded
        self.allow("status of 409")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Keep mine")).to_be_focused()
        page.get_by_role("button", name="Keep both").click()
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".prose")).to_contain_text("theirs")
        self.assertEqual(self.testbed.experiment(id_)["notes"], "mine\n\ntheirs")

    # ---- actions

    def test_pause_activate_cancel_archive_and_delete(self):
        hold = self.testbed.hold("experiment")
        id_ = self.testbed.create("steered", WAITING % hold, paused=True)
        page = self.at(id_)
        badge = page.locator(".experiment-head .badge").first
        expect(badge).to_have_text("PAUSED")
        page.get_by_role("button", name="Activate").click()
        expect(badge).to_have_text("RUNNING")
        page.get_by_role("button", name="Pause").click()
        expect(badge).to_have_text("PAUSED")
        self.more(page, "Compare")
        expect(page).to_have_url(re.compile(f"/det/compare\\?experiments={id_}$"))
        page.go_back()
        self.filled(page)
        self.more(page, "Cancel")
        self.testbed.release("experiment")  # the trial ends its run
        expect(badge).to_have_text("CANCELED")
        self.more(page, "Archive")
        expect(page.locator(".experiment-head")).to_contain_text("archived")
        self.more(page, "Unarchive")
        expect(page.locator(".experiment-head .chip", has_text="archived")).to_have_count(0)
        self.more(page, "Delete")
        expect(page.get_by_role("dialog")).to_contain_text(f"Delete experiment {id_}?")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page).to_have_url(re.compile("/det/experiments$"))

    def test_a_metric_that_no_validation_has_is_pointed_out(self):
        wrong = self.made("misspelt", config={"searcher": {"name": "single", "metric": "los"}})
        page = self.at(wrong, "overview")
        head = page.locator(".experiment-head")
        expect(head.get_by_role("note")).to_contain_text("No trial could be compared: the validation of trial")
        expect(head.get_by_role("note")).to_contain_text("did you mean loss?")
        expect(head).to_contain_text("No trial could be compared.")
        expect(head).not_to_contain_text("No validation")
        page.goto(self.testbed.url + f"/det/trials/{self.testbed.trials(wrong)[0]}")
        expect(page.get_by_role("region", name="Latest validation")).to_contain_text("No validation has the metric of the searcher, los.")

    def test_a_metric_whose_goal_is_in_doubt_is_pointed_out(self):
        text = "Larger values of 'val_accuracy' are usually better, but smaller ones count as better here: set searcher.smaller_is_better"
        doubtful = self.made("doubtful", config={"searcher": {"name": "single", "metric": "val_accuracy"}}, paused=True)
        sure = self.made("sure", config={"searcher": {"name": "single", "metric": "val_accuracy", "smaller_is_better": False}}, paused=True)
        page = self.at(doubtful, "overview")
        expect(page.locator(".experiment-head").get_by_role("note")).to_contain_text(text)
        self.looks(page, "experiment-doubt")
        page = self.at(sure, "overview")
        expect(page.locator(".experiment-head")).to_contain_text("judged by val_accuracy (larger is better)")
        expect(page.locator(".experiment-head").get_by_role("note")).to_have_count(0)

    def test_kill_asks_first(self):
        id_ = self.testbed.create("killed", WAITING % self.testbed.hold("killed"))
        page = self.at(id_)
        expect(page.locator(".experiment-head .badge").first).to_have_text("RUNNING")
        self.more(page, "Kill")
        page.get_by_role("dialog").get_by_role("button", name="Kill").click()
        expect(page.locator(".experiment-head .badge").first).to_have_text("CANCELED")

    def test_a_fork_with_a_mistake_is_corrected_and_made(self):
        id_ = self.made("parent")
        page = self.at(id_)
        page.get_by_role("button", name="Fork").click()
        dialog = page.get_by_role("dialog")
        editor = dialog.get_by_role("textbox", name="Configuration of the fork")
        expect(editor).to_be_focused()
        expect(dialog.locator(".verdict")).to_contain_text("No problems. It would run one trial.")
        wrong = "name: the fork\nentrypoint: ./run.sh\nmax_restart: 0\nsearcher:\n  name: single\n  metric: loss\nhyperparameters: {lr: 0.3}\n"
        editor.fill(wrong)
        expect(dialog.locator(".problems li")).to_have_text(["line 3 max_restart: unknown key; did you mean 'max_restarts'?"])
        expect(dialog.locator(".gutter .error")).to_have_text("3")
        said = self.testbed.det("experiment", "create", "-", check=False, stdin=wrong)
        self.assertIn("max_restart: unknown key; did you mean 'max_restarts'?", said)
        self.names(page)
        self.contrast(page)
        self.shot(page, "experiment-fork", full=False)
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.get_by_role("button", name="line 3")).to_be_focused()
        editor.fill(wrong.replace("max_restart:", "max_restarts:"))
        expect(dialog.locator(".verdict")).to_contain_text("No problems.")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("the fork")
        fork = int(page.url.rsplit("/", 1)[1])
        self.assertEqual(self.testbed.experiment(fork)["forkedFrom"], id_)
        self.testbed.wait(fork, "COMPLETED")
        self.open_tab(page, "Code")
        expect(page.locator(".file-view")).to_contain_text("det report")
        self.open_tab(page, "Lineage")
        expect(page.locator(".tree")).to_contain_text("parent")
        self.looks(page, "experiment-lineage")
        page.locator(".tree").get_by_role("link", name=re.compile("parent")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("parent")

    def test_a_draft_is_kept_when_the_dialog_is_closed(self):
        page = self.at(self.made("drafted"))
        fork = lambda: page.get_by_role("button", name="Fork").click()
        dialog = page.get_by_role("dialog")
        editor = dialog.get_by_role("textbox", name="Configuration of the fork")
        fork()
        first = editor.input_value()
        editor.fill("name: half done\n")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        fork()
        expect(editor).to_have_value("name: half done\n")
        expect(dialog.locator(".draft")).to_contain_text("Your unsent draft was restored.")
        dialog.get_by_role("combobox", name="Start from").select_option("complete")
        expect(editor).not_to_have_value("name: half done\n")
        dialog.get_by_role("combobox", name="Start from").select_option("written")
        expect(editor).to_have_value("name: half done\n")
        dialog.get_by_role("button", name="Discard draft").click()
        expect(editor).to_have_value(first)
        page.keyboard.press("Escape")
        fork()
        expect(editor).to_have_value(first)
        expect(dialog.locator(".draft")).to_have_count(0)

    def test_a_fork_is_reported_after_its_dialog_was_closed(self):
        page = self.at(self.made("left"))
        held = []
        page.route("**/api/v1/experiments", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
        page.get_by_role("button", name="Fork").click()
        dialog = page.get_by_role("dialog")
        with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/api/v1/experiments")):
            dialog.get_by_role("button", name="Create").click()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        held[0].continue_()
        expect(page.locator(".toasts")).to_contain_text("Created experiment")

    def test_a_huge_configuration_can_be_pasted(self):
        page = self.at(self.made("parent"))
        page.get_by_role("button", name="Fork").click()
        dialog = page.get_by_role("dialog")
        editor = dialog.get_by_role("textbox", name="Configuration of the fork")
        editor.evaluate("""(node) => {
            node.value = "# a line\\n".repeat(30000) + "foo: 3\\n";
            node.dispatchEvent(new Event("input"));
        }""")
        dialog.get_by_role("button", name="line 30001").first.click()
        expect(dialog.locator(".gutter .error")).to_have_text("30001")
        self.assertLess(dialog.locator(".copy div").count(), 200)

    def test_an_experiment_goes_on_with_changes(self):
        page = self.at("failed")
        dialog = page.get_by_role("dialog")
        page.get_by_role("button", name="Continue").click()
        expect(dialog).to_contain_text("It has no checkpoint: its trial starts from the beginning")
        id_ = self.made("goes on")
        page = self.at(id_)
        dialog = page.get_by_role("dialog")
        page.get_by_role("button", name="Continue").click()
        expect(dialog).to_contain_text("Its trial continues from its last checkpoint.")
        editor = dialog.get_by_role("textbox", name="Configuration changes")
        editor.fill("searcher:\n  metric: other\n")
        expect(dialog.locator(".problems")).to_contain_text("cannot change when an experiment is continued")
        editor.fill("max_restarts: 3\n")
        expect(dialog.locator(".verdict")).to_contain_text("No problems.")
        dialog.get_by_role("button", name="Continue").click()
        expect(dialog).to_have_count(0)
        self.testbed.wait(id_, "COMPLETED")
        self.assertEqual(self.testbed.api("GET", f"/api/v1/experiments/{id_}")["config"]["max_restarts"], 3)

    def test_a_search_that_is_complete_is_forked_instead(self):
        page = self.at("grid")
        page.get_by_role("button", name="Continue").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Its search has completed all of its trials.")
        dialog.get_by_role("button", name="Fork").click()
        expect(dialog.get_by_role("textbox", name="Configuration of the fork")).to_be_focused()

    def test_trials_that_report_move_the_page(self):
        hold = self.testbed.hold("live")
        script = "#!/bin/sh\nwhile [ ! -e %s ]; do sleep 0.05; done\ndet report --steps 70 --validation loss=0.25\n" % hold
        id_ = self.testbed.create("live", script)
        page = self.at(id_, "trials")
        expect(page.locator("tbody tr")).to_have_count(1)
        self.testbed.release("live")
        expect(page.locator("tbody tr")).to_contain_text("0.25")
        expect(page.locator(".experiment-head .badge").first).to_have_text("COMPLETED")
        expect(page.locator(".experiment-head")).to_contain_text("loss 0.25")

    def test_a_metric_that_is_reported_while_names_are_read_is_drawn(self):
        hold = self.testbed.hold("named")
        id_ = self.testbed.create("named", "#!/bin/sh\nwhile [ ! -e %s ]; do sleep 0.05; done\ndet report --steps 1 --validation loss=0.25\n" % hold)
        page = self.at(id_, "overview")
        expect(page.locator(".view")).to_contain_text("No metrics yet.")
        names = self.held(page, "**/metric-names*")
        self.testbed.api("PATCH", f"/api/v1/experiments/{id_}", {"description": "read it again"})
        none = self.comes(page, names)
        self.testbed.release("named")
        expect(page.locator(".states-list")).to_have_text(re.compile("COMPLETED"))
        none.arrive()
        expect(page.locator("figure[data-drawn]")).to_have_count(1)

    def test_a_deletion_in_a_second_tab_is_reported(self):
        self.allow("404")  # a call that was pending
        id_ = self.made("short-lived")
        page = self.at(id_, "notes")
        page.get_by_role("button", name="Add notes").click()
        self.testbed.api("DELETE", f"/api/v1/experiments/{id_}")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Experiment {id_} was deleted")
        expect(page.locator("main")).to_contain_text("It was deleted while this page was open")
        expect(page.locator(".error")).to_have_count(0)

    def test_the_keyboard_alone_goes_everywhere(self):
        page = self.at("paused")
        self.keyboard_reaches(page, ".edit-button")
        self.keyboard_reaches(page, ".actions .button")
        self.keyboard_reaches(page, ".tabs a[href$='/configuration']")
        page.keyboard.press("Enter")
        expect(page.locator(".view[data-tab='configuration']")).to_be_attached()
        expect(page.locator(".tabs a[href$='/configuration']")).to_be_focused()
        page.go_back()
        self.filled(page)
        expect(page.locator(".view[data-tab='overview']")).to_be_attached()

    def test_the_cause_of_a_failure_is_shown(self):
        (trial,) = self.testbed.trials("failed")
        page = self.at("failed")
        why = page.get_by_role("region", name="Why it failed")
        expect(why).to_contain_text("Why it failedIt ended with an error: exited with code 3")
        expect(why.locator("pre")).to_have_text("reading data\nno such file: /data/train.csv\n")
        expect(page.locator(".view")).to_contain_text("No metrics were reported.")
        self.looks(page, "experiment-failed")
        why.get_by_role("link", name=f"Open the log of trial {trial}").click()
        expect(page.locator(".ln.chosen").first).to_contain_text("no such file")
        page.goto(self.testbed.url + f"/det/trials/{trial}")
        expect(why).to_contain_text("Why it failedIt ended with an error: exited with code 3")
        expect(self.at("search").get_by_role("region", name="Why it failed")).to_have_count(0)

    def test_a_search_shows_how_many_trials_failed_and_the_error_of_the_first(self):
        script = "#!/bin/sh\ncase $(det hparam n) in 2|3) echo the error >&2; seq 100; exit 5;; esac\ndet report --steps 1 --validation loss=1\n"
        id_ = self.made("some fail", script, {"searcher": {"name": "grid", "metric": "loss", "max_concurrent_trials": 1}, "max_restarts": 0,
                                              "hyperparameters": {"n": {"type": "categorical", "vals": [1, 2, 3, 4]}}})
        page = self.at(id_)
        why = page.get_by_role("region", name="Why it failed")
        expect(why.get_by_role("heading")).to_have_text("2 of 4 trials failed")
        expect(why).to_contain_text("ended with an error: exited with code 5.")
        expect(why.locator("pre")).to_contain_text("the error")  # although many lines follow it
        expect(why.locator("pre")).to_contain_text("100")
        self.assertRegex(self.testbed.det("experiment", "describe", str(id_)), r"failed +2 of 4 trials; trial \d+: exited with code 5; more in: det trial logs \d+")
        why.get_by_role("link", name="2 of 4 trials").click()
        expect(page.locator(".view tbody tr")).to_have_count(2)

    def test_a_failure_appears_while_the_page_is_open(self):
        id_ = self.testbed.create("will fail", "#!/bin/sh\nwhile [ ! -e %s ]; do sleep 0.05; done\necho it went wrong\nexit 7\n" % self.testbed.hold("will-fail"), {"max_restarts": 0})
        page = self.at(id_)
        expect(page.locator(".view")).to_contain_text("No metrics yet.")
        self.testbed.release("will-fail")
        expect(page.get_by_role("region", name="Why it failed")).to_contain_text("it went wrong")
        expect(page.locator(".view")).to_contain_text("No metrics were reported.")

    def test_a_missing_experiment_says_so(self):
        self.allow("404")
        page = self.page_at("/det/experiments/99999", wait=False)
        expect(page.get_by_role("alert")).to_contain_text("Not found.")
        expect(page).to_have_title("Not found – det")
        expect(page.get_by_role("main").get_by_role("link", name="Experiments")).to_be_visible()
        page.goto(self.testbed.url + "/det/experiments/nonsense")
        expect(page.get_by_role("alert")).to_contain_text("there is no experiment 'nonsense'", ignore_case=True)
        page.goto(self.testbed.url + "/det/experiments/99999999999999999999")
        expect(page.get_by_role("alert")).to_contain_text("there is no experiment '99999999999999999999'", ignore_case=True)
