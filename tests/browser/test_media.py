# SPDX-License-Identifier: Apache-2.0
"""The media of a trial and the files of a checkpoint, also those that attack."""
import re

from harness import BrowserTest, expect

SCRIPT = r"""#!/usr/bin/env python3
import json, os, pathlib, struct, zlib
from determined import core

def png(shade):
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + bytes([shade, 90, 200]) * 64 for _ in range(64))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")

wav = b"RIFF" + struct.pack("<I", 36 + 800) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + struct.pack("<I", 800) + bytes(range(100)) * 8
ATTACK = "<script>document.title = 'attacked'; top.document.title = 'attacked'; fetch('/api/v1/me')</script>"
with core.init() as context:
    train = context.train
    for step in (10, 20, 30):
        train.report_media("samples/first", step, png(step * 8))
    train.report_media("words", 20, "<b>not bold</b> " + ATTACK)
    train.report_media("voice", 20, wav)
    train.report_media("table", 20, [{"class": "cat", "score": 0.75}, {"class": "<i>dog</i>", "score": None}])
    train.report_media("weights", 20, {"edges": [-1, -0.5, 0, 0.5, 1], "counts": [1, 5, 9, 2]})
    train.report_media("page", 20, "<h1>A page</h1>" + ATTACK + "<img src=x onerror=\"top.document.title='attacked'\">", type="html")
    train.report_media("drawing", 20, "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40' onload=\"top.document.title='attacked'\"><circle cx='20' cy='20' r='15'/>" + ATTACK + "</svg>", type="svg")
    with context.checkpoint.store_path({"steps_completed": 30}) as (path, uuid):
        (path / "config.json").write_text(json.dumps({"layers": [1, 2]}))
        (path / "deep" / "er").mkdir(parents=True)
        (path / "deep" / "picture.png").write_bytes(png(99))
        (path / "deep" / "er" / "page.html").write_text(ATTACK)
        (path / "weights.bin").write_bytes(bytes(5000))
    train.report_validation_metrics(30, {"loss": 1})
"""


class Media(BrowserTest):
    made = None

    def trial(self):
        if Media.made is None:
            made = self.testbed.create("media", SCRIPT)
            self.testbed.wait(made)
            Media.made = self.testbed.trials(made)[0]
        return Media.made

    def card(self, page, name):
        return page.get_by_role("region", name=name, exact=True)

    def test_media_are_shown_by_name_and_step(self):
        self.allow_blocked()
        page = self.page_at(f"/det/trials/{self.trial()}")
        page.get_by_role("link", name="Media").click()
        first = self.card(page, "samples/first")
        picture = first.get_by_role("img")
        expect(picture).to_have_attribute("alt", "samples/first at step 30")
        page.wait_for_function("() => [...document.querySelectorAll('.media-image')].every((one) => one.naturalWidth > 0)")
        expect(first.locator(".media-step")).to_have_text("step 30")
        slider = first.get_by_role("slider")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        expect(first.locator(".media-step")).to_have_text("step 20")
        expect(picture).to_have_attribute("alt", "samples/first at step 20")
        expect(self.card(page, "words").locator("pre")).to_contain_text("<b>not bold</b>")
        expect(self.card(page, "table").get_by_role("cell", name="<i>dog</i>")).to_be_visible()
        expect(self.card(page, "weights").locator("rect")).to_have_count(4)
        sound = self.card(page, "voice").locator("audio")
        assert sound.evaluate("(one) => new Promise((done) => { one.onloadedmetadata = () => done(one.duration); one.onerror = () => done(-1); one.load(); one.preload = 'auto'; })") > 0.05
        page.get_by_label("Filter by name").fill("tab")
        expect(page.locator(".media-card")).to_have_count(1)
        page.get_by_label("Filter by name").fill("")
        expect(page.locator(".media-card")).to_have_count(7)
        self.looks(page, "trial-media")

    def allow_blocked(self):
        """What the browser says about each script and picture that it does not run or load."""
        for part in ("Blocked script execution", "Content Security Policy", "ERR_BLOCKED_BY_CSP"):
            self.allow(part)

    def test_markup_of_a_trial_runs_no_script(self):
        self.allow_blocked()
        page = self.page_at(f"/det/trials/{self.trial()}/media")
        frame = self.card(page, "page").locator("iframe")
        expect(frame).to_have_attribute("sandbox", "")
        frame.scroll_into_view_if_needed()
        expect(frame.content_frame.get_by_role("heading", name="A page")).to_be_visible()
        expect(self.card(page, "drawing").get_by_role("img")).to_be_visible()
        expect(page).to_have_title(re.compile("Trial"))
        for name in ("page", "drawing"):  # opened by itself, in the master's own address
            address = self.card(page, name).get_by_label(f"Download {name}").get_attribute("href")
            alone = page.context.new_page()
            alone.goto(self.testbed.url + address)
            assert alone.title() != "attacked", alone.title()
            assert alone.evaluate("() => self.origin") == "null"
            alone.close()

    def test_files_of_a_checkpoint_are_shown(self):
        page = self.page_at(f"/det/trials/{self.trial()}/checkpoints")
        page.get_by_role("button", name=re.compile("Show checkpoint")).click()
        box = page.get_by_role("dialog")
        box.get_by_role("button", name="Show config.json").click()
        expect(box.locator(".checkpoint-file pre")).to_contain_text('"layers": [')
        box.get_by_text("deep/", exact=True).click()
        box.get_by_role("button", name="Show deep/picture.png").click()
        expect(box.locator(".checkpoint-file img")).to_be_visible()
        page.wait_for_function("() => document.querySelector('.checkpoint-file img').naturalWidth === 64")
        box.get_by_text("deep/er/", exact=True).click()
        box.get_by_role("button", name="Show deep/er/page.html").click()
        expect(box.locator(".checkpoint-file pre")).to_contain_text("<script>")
        with page.expect_download() as download:
            box.get_by_role("link", name="Download weights.bin", exact=True).click()
        with open(download.value.path(), "rb") as file:
            assert file.read() == bytes(5000)
        self.looks(page, "checkpoint-files")

    def test_a_trial_without_media_has_no_such_tab(self):
        page = self.page_at(f"/det/trials/{self.testbed.trials('search')[0]}")
        expect(page.get_by_role("link", name="Checkpoints")).to_be_visible()
        self.settled(page)
        expect(page.get_by_role("link", name="Media")).to_have_count(0)
