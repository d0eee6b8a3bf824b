# SPDX-License-Identifier: Apache-2.0
"""Looks at pages of the guide whose blocks no test runs from top to bottom (guide_page.py runs the others).

    guide_look.py PAGE...

In the prose and in every block, a line that begins with `det` must name a command that exists, with options that it
has.  Blocks of YAML are configurations, or parts of such, that `det config check` accepts; blocks of Python must
compile.  A block below `<!-- not run: WHY -->` is left out; the commands of one below `<!-- fails: CODE -->` are run.  Prints each finding; ends with 1 if there is one.
"""
import ast
import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{HERE}/../../tools")
import guidepage

helps = {}
findings = []
counts = {"commands": 0, "configurations": 0, "programs": 0}


def run_det(*words):
    return subprocess.run(["det", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def help_of(words):
    if words not in helps:
        helps[words] = run_det(*words, "--help")
    return helps[words]


def check_command(where, words, options):
    """`words` are those of the command, and perhaps the first of its arguments."""
    counts["commands"] += 1
    found = help_of(words)
    if found.returncode:
        findings.append(f"{where}: there is no command 'det {' '.join(words)}'")
        return
    for option in options:
        if not re.search(rf"{option}\b", found.stdout):
            findings.append(f"{where}: 'det {' '.join(words)}' has no option {option}")


def check_line(where, line):
    """A line of a block, such as "$ det e list --json | jq length"."""
    line = re.sub(r"\\$", "", line.strip().removeprefix("$ "))
    match = re.match(r"det (?:-[mu] \S+ )*((?:[a-z][a-z_-]*(?: +|$))*)(.*)", line)
    if not match or line.startswith("det:"):
        return
    rest = re.split(r"[|>;&#]| -- ", match.group(2))[0]
    words = tuple(match.group(1).split())
    is_launcher = words[:1] == ("launch",)  # the options are those of the program
    check_command(where, words[:2] if is_launcher else words,
                  [] if is_launcher else re.findall(r"(?<!\S)(--[a-z][a-z_-]*)", re.sub(r"'[^']*'|\"[^\"]*\"", "", rest)))


# What a part of an experiment's configuration lacks.
REST = {"name": "a part", "entrypoint": "python3 train.py", "searcher": "{name: single, metric: loss, max_length: 100}"}


def check_yaml(where, text):
    """A configuration of some kind, or a part of one: unknown keys and wrong values are refused by all of them."""
    text = textwrap.dedent(text)
    rest = "".join(f"{key}: {value}\n" for key, value in REST.items() if not re.search(rf"^{key}:", text, re.M))
    host = "" if re.search(r"^master_host:", text, re.M) else "master_host: here\n"
    said = []
    for kind, whole in (("experiment", text + rest), ("master", text), ("agent", text + host), ("job", text)):
        with open("block.yaml", "w") as file:
            file.write(whole)
        done = run_det("config", "check", "--kind", kind, "block.yaml")
        if not done.returncode:
            counts["configurations"] += 1
            return
        said.append(f"{kind}: {done.stdout.strip()}")
    findings.append("\n    ".join([f"{where}: no configuration", *said]))


def check_python(where, text):
    counts["programs"] += 1
    try:
        ast.parse(textwrap.dedent(text))
    except SyntaxError as error:
        findings.append(f"{where}: {error}")


def check_refusals(name, block):
    """Each command ends with the code of the mark, and says what the page says."""
    for line, command, wanted in block.commands():
        counts["commands"] += 1
        done = run_det(*command.split()[1:])
        missing = [each for each in wanted if each not in done.stderr.split("\n")]
        if done.returncode != int(block.argument) or missing:
            findings.append(f"{name}:{line}: '{command}' ended with {done.returncode}: {done.stderr.strip()}")


def blocks_of(text):
    """(line, language, text) of fenced and indented blocks."""
    marked = {block.line for block in guidepage.blocks(text) if block.kind in ("not run", "fails")}
    lines = text.split("\n")
    fence, begun = None, 0
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("```"):
            if fence is not None and begun not in marked:
                yield begun + 1, fence, "\n".join(lines[begun:number - 1]) + "\n"
            fence, begun = (line.strip()[3:], number) if fence is None else (None, 0)
        elif fence is None and line.startswith("    "):
            yield number, "", line + "\n"


def check_page(name):
    with open(f"{HERE}/../../docs/guide/{name}") as file:
        text = file.read()
    for words, options in guidepage.inline_commands(text):
        check_command(name, words, options)
    for block in guidepage.blocks(text):
        if block.kind == "fails":
            check_refusals(name, block)
    for number, language, block in blocks_of(text):
        for at, line in enumerate(block.split("\n"), number):
            check_line(f"{name}:{at}", line)
        if language == "yaml":
            check_yaml(f"{name}:{number}", block)
        elif language == "python":
            check_python(f"{name}:{number}", block)


for page in sys.argv[1:] or [f"{name}.md" for name in guidepage.OLDER_PAGES]:
    check_page(page)
print("\n".join(findings))
print(", ".join(f"{count} {what}" for what, count in counts.items()))
sys.exit(1 if findings else 0)
