# SPDX-License-Identifier: Apache-2.0
"""The blocks of a page of docs/guide that a test runs from top to bottom (tests/e2e/guide_page.py).

A block is fenced.  The comment on the line above it says what it is:

    <!-- file: train.py -->         the block is this file
    <!-- not run: needs systemd --> no test can run it; PAGES says how many such blocks a page has
    <!-- fails: 2 -->               a session whose last command ends with this exit code

A block without a comment is a session: lines `$ command`, each followed by lines that it prints.  Every line must be
printed, in any order; words with a digit stand for any such word, and `...` for anything.

Inline code that begins with `det ` names a command that exists, with its options.  The commands in the first column of
a table below `<!-- refused -->` do not exist: the program refuses each with a hint.
"""
import re

# Pages that a test runs, with the number of blocks that it cannot run.
PAGES = {
    "comparison.md": 0,
    "faq.md": 0,
    "from-determined.md": 0,
    "media.md": 0,
    "plain-pytorch.md": 0,
    "ten-people.md": 11,
}
# Pages that are older than this: other tests run parts of them, and tests/e2e/guide_look.py looks at all their
# commands, configurations and programs.  A new page goes into PAGES.
OLDER_PAGES = """
agent-configuration backup batch-inference checkpoints cli concepts core-api-in-python doctor environments
exact-resume experiment-configuration forks index installation job-configuration jobs keras keras-2 keras-callback
keras-trainer keras-trial lightning master-configuration monitoring permissions profiling pytorch pytorch-distributed
queries rest-api running-a-cluster security sign-in teams tensorboard training-from-scripts training-in-c
training-loop-in-c transformers troubleshooting upgrading webui without-a-master yaml
""".split()

MARK = re.compile(r"<!-- (file|not run|fails): (.+?) -->$")


class Block:
    def __init__(self, line, kind, argument, text):
        self.line, self.kind, self.argument, self.text = line, kind, argument, text

    def commands(self):
        """(line, command, lines that it prints) of a session."""
        found = []
        for number, line in enumerate(self.text.split("\n")[:-1], self.line + 1):
            if found and found[-1][1].endswith("\\") and not found[-1][2]:
                found[-1] = (found[-1][0], found[-1][1] + "\n" + line, [])
            elif line.startswith("$ "):
                found.append((number, line[2:], []))
            elif found:
                found[-1][2].append(line)
        return found


def blocks(text):
    """The blocks of a page.  A block that is neither marked nor a session has the kind None."""
    found, block, above = [], None, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip().startswith("```"):
            if block:
                block.text += line + "\n"
        elif block:
            if not block.kind and block.text.startswith("$ "):
                block.kind = "session"
            found, block = [*found, block], None
        else:
            mark = MARK.match(above.strip())
            block = Block(number, *(mark.groups() if mark else (None, None)), "")
        above = line
    return found


def prose(text):
    """The page without its blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def refused(text):
    """The commands that the page says do not exist."""
    tables = re.findall(r"^<!-- refused -->\n((?:\|.*\n)+)", text, re.M)
    cells = [line.split("|")[1] for table in tables for line in table.split("\n")[2:-1]]
    return [name for cell in cells for name in re.findall(r"`(det [^`]*)`", cell)]


def inline_commands(text):
    """(command words, options) of the other commands in the prose."""
    text = re.sub(r"^<!-- refused -->\n((?:\|.*\n)+)",
                  lambda m: re.sub(r"^\|[^|]*", "", m.group(1), flags=re.M), prose(text), flags=re.M)
    found = set()
    for code in re.findall(r"`det ([^`]*)`", text):
        words = re.match(r"(?:-[mu] \S+ )*((?:[a-z][a-z-]*(?: |$))*)", code).group(1).split()
        found.add((tuple(words), tuple(re.findall(r"(--[a-z][a-z_-]*)", code))))
    return sorted(found)


def check(name, text):
    """(line, finding) of a page in PAGES."""
    not_run = 0
    for block in blocks(text):
        if not block.kind:
            yield block.line, "a block that no test can run: see tools/guidepage.py for its mark"
        not_run += block.kind == "not run"
    if re.search(r"\n\n {4}\S", prose(text)):
        yield 1, "a block without a fence: no test can run it"
    if not_run != PAGES[name]:
        yield 1, f"{not_run} blocks are not run, tools/guidepage.py says {PAGES[name]}"
