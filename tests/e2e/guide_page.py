# SPDX-License-Identifier: Apache-2.0
"""Runs every block of a page of the guide, from top to bottom, in the current folder.

    guide_page.py PAGE [FROM=TO ...]     FROM=TO: the test has TO where the page says FROM

tools/guidepage.py explains the marks.  Ends with 1 at the first block that does not do what the page says.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{HERE}/../../tools")
import guidepage

PAGE, CHANGES = sys.argv[1], [change.split("=", 1) for change in sys.argv[2:]]
ENVIRONMENT = os.path.abspath("../guide-environment")  # the variables that earlier commands have set


def give_up(line, why, output=""):
    print(f"{PAGE}:{line}: {why}\n{output}")
    sys.exit(1)


def changed(text):
    for before, after in CHANGES:
        text = text.replace(before, after)
    return text


def likeness(line):
    """The line without what differs from run to run."""
    return " ".join(re.sub(r"[\w.:+-]*\d[\w.:+-]*", "#", line).replace("...", "").split())


def write_file(block):
    folder = os.path.dirname(block.argument)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(changed(block.argument), "w") as file:
        file.write(changed(block.text))
    if block.text.startswith("#!"):
        os.chmod(changed(block.argument), 0o755)


def run_command(line, command, wanted, code):
    script = f"set -a; [ ! -e {ENVIRONMENT} ] || . {ENVIRONMENT}\n{changed(command)}\ncode=$?; export -p >{ENVIRONMENT}; exit $code\n"
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != code:
        give_up(line, f"'{command}' ended with {done.returncode}, not {code}", done.stdout)
    printed = {likeness(said) for said in done.stdout.split("\n")}
    for said in wanted:
        if likeness(changed(said)) and not said.endswith("...") and likeness(changed(said)) not in printed:
            give_up(line, f"'{command}' did not print '{said}'", done.stdout)
        if said.endswith("...") and not any(each.startswith(likeness(changed(said))) for each in printed):
            give_up(line, f"'{command}' did not print '{said}'", done.stdout)


def run_session(block):
    commands = block.commands()
    for number, (line, command, wanted) in enumerate(commands, 1):
        is_last = number == len(commands)
        run_command(line, command, wanted, int(block.argument) if block.kind == "fails" and is_last else 0)


def run_blocks(text):
    count = 0
    for block in guidepage.blocks(text):
        count += block.kind != "not run"
        if block.kind == "file":
            write_file(block)
        elif block.kind in ("session", "fails"):
            run_session(block)
        elif block.kind != "not run":
            give_up(block.line, "this block has no mark")
    return count


def run_det(*words):
    return subprocess.run(["det", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def check_inline(text):
    for words, options in guidepage.inline_commands(text):
        help_text = run_det(*words, "--help")
        if help_text.returncode:
            give_up(1, f"there is no command 'det {' '.join(words)}'", help_text.stderr)
        for option in options:
            if not re.search(rf"{option}\b", help_text.stdout):
                give_up(1, f"'det {' '.join(words)}' has no option {option}", help_text.stdout)
    for command in guidepage.refused(text):
        done = run_det(*command.split()[1:])
        if not done.returncode or "hint: " not in done.stderr:
            give_up(1, f"'{command}' is not refused with a hint", done.stdout + done.stderr)


def main():
    with open(f"{HERE}/../../docs/guide/{PAGE}") as file:
        text = file.read()
    check_inline(text)
    print(f"{run_blocks(text)} blocks were run")


main()
