# SPDX-License-Identifier: Apache-2.0
"""The history of the cluster and the master's log, as an administrator and as somebody else."""
from harness import expect
from test_session import LOST, People


class History(People):
    def test_an_administrator_sees_who_used_the_slots(self):
        id_ = self.testbed.create("counted", "#!/bin/sh\nsleep 1\n", {"labels": ["nlp"]})
        self.testbed.wait(id_)
        page = self.page_at("/det/cluster", token=self.testbed.admin())
        page.get_by_role("link", name="History").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Cluster history")
        expect(page.locator(".use-bar")).to_have_count(30)
        row = page.get_by_role("row").filter(has_text="determined")
        expect(row).to_contain_text("%")
        self.looks(page, "cluster-history")
        page.get_by_label("Divided").select_option("experiment")
        expect(page.get_by_role("link", name=f"experiment {id_}", exact=True)).to_be_visible()
        page.get_by_label("Divided").select_option("label")
        expect(page.get_by_role("row").filter(has_text="nlp")).to_be_visible()
        page.get_by_label("Time", exact=True).select_option("12m")
        expect(page.locator(".use-bar")).to_have_count(12)
        expect(page).to_have_url(self.testbed.url + "/det/cluster/history?by=label&span=12m")
        with page.expect_download() as download:
            page.get_by_text("Save as CSV").click()
        with open(download.value.path(), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual("aggregation_type,aggregation_key,date,seconds", lines[0])
        self.assertTrue(any(line.startswith("experiment_label,nlp,") for line in lines), lines)

    def test_an_administrator_follows_the_log_of_the_master(self):
        page = self.page_at("/det/cluster", token=self.testbed.admin())
        page.get_by_role("link", name="Master log").click()
        log = page.get_by_role("log")
        expect(log).to_contain_text("serving http")
        id_ = self.testbed.create("logged", "#!/bin/sh\n")
        expect(log).to_contain_text(f"experiment {id_} is over")
        self.looks(page, "cluster-log")
        page.get_by_label("Search in the log").fill("SERVING")
        expect(log.get_by_role("listitem")).to_have_count(1)
        page.get_by_label("Level").select_option("ERROR")
        expect(page.get_by_text("No lines match.")).to_be_visible()
        expect(page).to_have_url(self.testbed.url + "/det/cluster/log?text=SERVING&level=ERROR")

    def test_others_do_not(self):
        self.allow(LOST)
        self.person("nosy")
        token = self.token_of("nosy")
        page = self.page_at("/det/cluster", token=token)
        expect(page.get_by_role("heading", name="Queue")).to_be_visible()
        expect(page.get_by_role("link", name="History")).to_have_count(0)
        page = self.page_at("/det/cluster/history", token=token)
        expect(page.get_by_text("Only administrators may see the history of the cluster.")).to_be_visible()
        page = self.page_at("/det/cluster/log", token=token)
        expect(page.get_by_text("Only administrators may read the master's log.")).to_be_visible()
