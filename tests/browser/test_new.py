# SPDX-License-Identifier: Apache-2.0
"""The page that creates an experiment: files and what is left out of them, the configuration, drafts."""
import os
import re
import tempfile

from harness import BrowserTest, expect
from testbed import MARKUP

RUN = "#!/bin/sh\ntest -x bin/tool && ./bin/tool >/dev/null\ndet report --steps 1 --validation loss=$(cat lib/loss.txt)\n"
CONFIG = "name: from a folder\nentrypoint: ./run.sh\nsearcher: {name: single, metric: loss}\nmax_restarts: 0\n"
IGNORE = """# rules of every kind
*.pyc
!kept.pyc
data/
/top.txt
a/**/z
**/logs
deep/*.csv
[ab]?.bin
name with space\\ \r
x/**
\\#odd
"""
FILES = {
    ".detignore": IGNORE, "const.yaml": CONFIG, "run.sh": RUN, "bin/tool": "#!/bin/sh\necho tool\n", "lib/loss.txt": "0.25\n", "empty.txt": "", "text.md": "# no program\n",
    "a.pyc": "", "kept.pyc": "", "lib/b.pyc": "", "lib/kept.pyc": "", "data/one": "", "lib/data/two": "", "lib/datax": "", "top.txt": "", "lib/top.txt": "",
    "a/z": "", "a/b/z": "", "a/b/c/z": "", "b/a/z": "", "logs/one": "", "lib/logs/two": "", "deep/x.csv": "", "deep/y/x.csv": "", "lib/deep/x.csv": "",
    "a1.bin": "", "c1.bin": "", "lib/b2.bin": "", "a12.bin": "", "name with space ": "", "x/y": "", "x/y2/z2": "", "lib/x/y": "", "#odd": "",
    ".git/HEAD": "ref", "lib/.git/HEAD": "ref", ".gitignore": "", "runs/1/run.lock": "", "runs/1/metrics": "", "runs/notes": "", "run.lock": "", "ünï/cödé.txt": "",
}


class New(BrowserTest):
    def folder(self, files):
        folder = tempfile.mkdtemp(dir=self.testbed.folder)
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", newline="") as file:
                file.write(text)
            if text.startswith("#!"):
                os.chmod(os.path.join(folder, path), 0o755)
        return folder

    def opened(self, query=""):
        page = self.page_at("/det/experiments/new" + query)
        expect(page.get_by_role("textbox", name="Configuration")).to_be_visible()
        return page

    def choose(self, page, folder):
        page.locator("input[aria-label='Choose a folder']").set_input_files(folder)

    def add(self, page, *paths):
        page.locator("input[aria-label='Add files']").set_input_files(list(paths))

    def files_of(self, id_):
        def flat(files):
            return [one for file in files for one in ([file["path"], *flat(file["files"])] if file["isDir"] else [file["path"]])]
        return sorted(flat(self.testbed.api("GET", f"/api/v1/experiments/{id_}/file_tree")["files"]))

    def created(self, page):
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page).to_have_url(re.compile("/det/experiments/[0-9]+$"))
        self.filled(page)
        return int(page.url.rsplit("/", 1)[1])

    def test_a_folder_is_sent_as_the_command_line_sends_it(self):
        folder = self.folder(FILES)
        page = self.page_at("/det/experiments")
        page.get_by_role("link", name="New experiment").click()
        self.filled(page)
        self.choose(page, folder)
        files = page.get_by_role("region", name="Files")
        expect(files).to_contain_text(re.compile(r"[0-9]+ files, .* Left out: [0-9]+ files named by \.detignore or in \.git; 2 files of offline runs\."))
        expect(page.get_by_label("Start from")).to_have_value("file:const.yaml")
        expect(page.get_by_role("textbox", name="Configuration")).to_have_value(CONFIG)
        expect(page.locator(".verdict")).to_contain_text("No problems. It would run one trial.")
        files.get_by_text("Show the files").click()
        self.looks(page, "new-folder")
        id_ = self.created(page)
        self.testbed.wait(id_)
        self.assertEqual(self.testbed.experiment(id_)["state"], "STATE_COMPLETED")  # its programs could be executed
        self.assertEqual(self.testbed.experiment(id_)["bestTrialSearcherMetric"], 0.25)
        self.assertEqual(self.testbed.experiment(id_)["originalConfig"], CONFIG)
        said = self.testbed.det("experiment", "create", "-", folder, "--paused", stdin=CONFIG)
        other = int(said.split("Created experiment ")[1].split()[0])
        # a browser does not tell of folders without files
        without_empty = [path for path in self.files_of(other) if path in FILES or any(one.startswith(path + "/") for one in self.files_of(id_))]
        self.assertEqual(self.files_of(id_), without_empty)

    def test_a_search_starts_from_a_template_and_its_mistakes_are_shown_at_their_line(self):
        page = self.opened()
        editor = page.get_by_role("textbox", name="Configuration")
        expect(page.locator(".verdict")).to_contain_text("No problems. It would run one trial.")
        expect(page.get_by_label("Notices about the files")).to_have_text("The entrypoint names 'train.py', which is not among the files.")
        page.get_by_label("Start from").select_option("A search")
        expect(page.locator(".verdict")).to_contain_text("No problems. It would run 10 trials.")
        self.looks(page, "new-search")
        good = editor.input_value()
        editor.fill(good.replace("max_trials", "max_trails"))
        expect(page.locator(".problems li.error")).to_contain_text(["max_trails: unknown key; did you mean 'max_trials'?"])
        line = page.get_by_role("button", name=re.compile("^line [0-9]+$")).first
        expect(page.locator(".gutter .error").first).to_have_text(line.inner_text().split()[1])
        page.get_by_role("button", name="Create", exact=True).click()
        expect(line).to_be_focused()
        editor.fill(good.replace("python3 train.py", "'true'").replace("max_trials: 10", "max_trials: 2"))
        expect(page.get_by_label("Notices about the files").get_by_role("listitem")).to_have_count(0)
        page.get_by_label("Start immediately").uncheck()
        id_ = self.created(page)
        row = self.testbed.experiment(id_)
        self.assertEqual((row["state"], row["searcherType"], row["name"], row["projectId"]), ("STATE_PAUSED", "random", "my search", 1))

    def test_files_that_are_too_large_are_refused_by_name(self):
        folder = self.folder({"train.py": "", "big/<b>.bin": ""})
        os.truncate(folder + "/big/<b>.bin", 97 << 20)
        page = self.opened()
        self.choose(page, folder)
        refused = page.get_by_role("region", name="Files").get_by_role("alert")
        expect(refused).to_contain_text("The files are too large to send: the limit is 96 MB.")
        expect(refused).to_contain_text("big/<b>.bin (102 MB)")
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_role("alert").last).to_contain_text("Error. The files are too large to send: 102 MB; the limit is 96 MB.")
        ignore = self.folder({".detignore": "big\n"})
        self.add(page, ignore + "/.detignore")
        expect(refused).to_have_count(0)
        expect(page.get_by_role("region", name="Files")).to_contain_text("2 files, 4 B. Left out: 1 file named by .detignore")
        page.get_by_role("button", name="Remove all files").click()
        expect(page.get_by_role("region", name="Files")).to_contain_text("Drop it here")

    def test_files_are_dropped_and_requirements_are_used(self):
        page = self.opened("?as=search")
        page.get_by_role("region", name="Files").evaluate("""(node, name) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File(["numpy\\n"], "requirements.txt"));
            transfer.items.add(new File(["#!/bin/sh\\n"], name));
            node.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""", MARKUP.replace("/", ""))
        expect(page.get_by_role("region", name="Files")).to_contain_text("2 files, 16 B.")
        expect(page.locator("main img")).to_have_count(0)
        editor = page.get_by_role("textbox", name="Configuration")
        page.get_by_role("button", name="Use requirements.txt").click()
        expect(page.get_by_role("button", name="Use requirements.txt")).to_have_count(0)
        self.assertTrue(editor.input_value().endswith("environment:\n  requirements: requirements.txt\n"))
        expect(page.locator(".verdict")).to_contain_text("No problems. It would run 10 trials.")
        editor.fill("environment: # mine\n  force_pull_image: false\n" + CONFIG)
        page.get_by_role("button", name="Use requirements.txt").click()
        self.assertTrue(editor.input_value().startswith("environment: # mine\n  requirements: requirements.txt\n  force_pull_image: false\n"))
        expect(page.locator(".verdict")).to_contain_text("No problems.")

    def test_a_draft_is_kept_and_the_project_is_chosen(self):
        space = self.testbed.api("POST", "/api/v1/workspaces", {"name": "New here"})["workspace"]["id"]
        project = self.testbed.api("POST", f"/api/v1/workspaces/{space}/projects", {"name": "made <b>"})["project"]["id"]
        page = self.page_at(f"/det/projects/{project}")
        page.get_by_role("link", name="New experiment").first.click()
        self.filled(page)
        expect(page.get_by_label("Project")).to_have_value(str(project))
        editor = page.get_by_role("textbox", name="Configuration")
        editor.fill(CONFIG.replace("./run.sh", "'true'"))
        self.add(page, self.folder({"one.txt": "1"}) + "/one.txt")
        expect(page.get_by_role("region", name="Files")).to_contain_text("1 file, 1 B.")
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Tasks").click()
        self.filled(page)
        page.go_back()
        self.filled(page)
        expect(editor).to_have_value(CONFIG.replace("./run.sh", "'true'"))
        expect(page.get_by_role("region", name="Files")).to_contain_text("1 file, 1 B.")
        expect(page.get_by_text("Your unsent draft was restored.")).to_be_visible()
        page.get_by_role("button", name="Discard draft").click()
        expect(editor).to_be_focused()
        expect(page.get_by_role("region", name="Files")).to_contain_text("Drop it here")
        editor.fill("workspace: New here\nproject: made <b>\n" + CONFIG.replace("./run.sh", "'true'"))
        expect(page.get_by_label("Project")).to_be_disabled()
        expect(page.get_by_text("The configuration names the project.")).to_be_visible()
        editor.fill(CONFIG.replace("./run.sh", "'true'"))
        expect(page.get_by_label("Project")).to_be_enabled()
        self.assertEqual(self.testbed.experiment(self.created(page))["projectId"], project)
        page.go_back()
        self.filled(page)
        expect(page.get_by_text("Your unsent draft was restored.")).to_have_count(0)

    def test_a_refusal_of_the_master_is_shown(self):
        self.allow("status of 404")
        page = self.opened()
        page.get_by_role("textbox", name="Configuration").fill("workspace: nowhere\nproject: nothing\n" + CONFIG)
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("workspace 'nowhere' not found", ignore_case=True)
        expect(page.get_by_role("button", name="Create", exact=True)).to_be_enabled()
