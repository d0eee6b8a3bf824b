# SPDX-License-Identifier: Apache-2.0
"""A real TensorBoard behind the master's proxy, opened from a page."""
import importlib.util
import unittest

from harness import BrowserTest, expect

START_MS = 180000  # importing TensorBoard takes long on a busy machine


@unittest.skipUnless(importlib.util.find_spec("tensorboard"), "TensorBoard is not installed")
class TensorBoard(BrowserTest):
    def test_an_experiment_is_shown_by_the_real_one(self):
        self.allow(r"503")  # "starting", until it is ready
        self.allow(r"font-roboto")  # its page requests these outside its own path
        self.allow(r"/proxy/")
        page = self.page_at("/det/tasks")
        experiment = self.testbed.ids["search"]
        with page.context.expect_page() as opened:
            page.evaluate("""async (id) => {
                const app = document.querySelector("script[type=module]").src;
                const {openTensorBoard} = await import(new URL("tensorboard.js", app).href);
                await openTensorBoard({experimentIds: [id]});
            }""", experiment)
        board = opened.value
        expect(page.get_by_role("row").filter(has_text=f"experiment {experiment}")).to_contain_text("TensorBoard")
        expect(board.get_by_text("training/loss").first).to_be_visible(timeout=START_MS)
        expect(page.get_by_role("row").filter(has_text=f"experiment {experiment}")).to_contain_text("RUNNING")
        self.assertIn("/proxy/", board.url)
        # a script on its page reaches its own program and nothing else of the master
        self.assertEqual("200", board.evaluate("""async () => String((await fetch("data/environment")).status)"""))
        self.allow(r"Content Security Policy|violates|favicon.ico")
        for path in ("/api/v1/me", "/det/"):
            self.assertEqual("refused", board.evaluate("""async (path) => {
                try { return String((await fetch(path)).status); } catch (error) { return "refused"; }
            }""", path))
        self.assertEqual("out of reach", board.evaluate("""async () => {
            const other = window.open("/api/v1/me");
            for (let i = 0; other && !other.closed && i < 100; i++) {
                await new Promise((done) => setTimeout(done, 100));
                try {
                    if (other.document.URL !== "about:blank") return other.document.body.textContent;
                } catch (error) { break; }
            }
            return "out of reach";
        }"""))
        board.get_by_text("training/loss").first.hover()
        self.shot(board, "tensorboard")
        # the running TensorBoard is opened again
        with page.context.expect_page() as again:
            page.evaluate("""async (id) => {
                const app = document.querySelector("script[type=module]").src;
                const {openTensorBoard} = await import(new URL("tensorboard.js", app).href);
                await openTensorBoard({experimentIds: [id]});
            }""", experiment)
        again.value.wait_for_url(board.url.split("#")[0].split("?")[0] + "**", wait_until="commit", timeout=START_MS)
        row = page.get_by_role("row").filter(has_text=f"experiment {experiment}")
        row.get_by_role("link", name="TensorBoard (").click()
        expect(page.locator(".head .badge")).to_have_text("RUNNING")
        self.looks(page, "task-tensorboard")
        page.get_by_role("button", name="Kill").click()
        page.get_by_role("dialog").get_by_role("button", name="Kill").click()
        expect(page.locator(".head .badge")).to_have_text("CANCELED")
