# SPDX-License-Identifier: Apache-2.0
"""Counts what meson's test log says: passed, failed and skipped tests.

A test that prints TAP counts once per line, any other test counts once.  A test program that was skipped entirely has
failed, unless each of its reasons is in HARDWARE and the machine does not have that hardware.
"""
import collections
import glob
import json
import re

HARDWARE = {  # reason to skip: whether this machine has the hardware
    "needs a GPU": lambda: bool(glob.glob("/dev/nvidia[0-9]*")),
}


class Suite:
    """The results of one suite on one build."""

    def __init__(self):
        self.seconds, self.passed, self.failed = 0, 0, 0
        self.skipped = []  # (program, line or "", reason)
        self.bad = []  # (program, stdout, stderr)
        self.tests = []  # (seconds, program, result)

    def add(self, test):
        """`test`: one line of meson's testlog.json."""
        name, result = test["name"].split(" / ")[-1], test["result"]
        out, err = test.get("stdout") or "", test.get("stderr") or ""
        self.seconds += test.get("duration") or 0
        self.tests.append((test.get("duration") or 0, name, result))
        ok, not_ok, skipped = tap_lines(out)
        self.skipped += [(name, line, reason) for line, reason in skipped]
        if result == "SKIP":
            self.add_whole_skip(test["name"], out, skipped)
        elif result in ("OK", "EXPECTEDFAIL"):
            self.passed += ok if ok or skipped else 1
        else:
            self.failed += max(not_ok, 1)
            self.passed += ok
            told = "".join(re.findall(r"^not ok\b.*\n(?:#.*\n)*", out, re.M))[:6000]
            self.bad.append((test["name"], told + out[-3000:], err[-4000:]))

    def add_whole_skip(self, name, out, skipped):
        plan = re.search(r"^1\.\.0\s*# *SKIP\S*[ \t]*(.*)", out, re.M | re.I)
        reasons = {reason for _, reason in skipped} or {plan[1] if plan else "it gave no reason"}
        if all(reason in HARDWARE and not HARDWARE[reason]() for reason in reasons):
            self.skipped += [] if skipped else [(name.split(" / ")[-1], "", *reasons)]
        else:
            self.add_failure(name, f"the whole test was skipped: {'; '.join(sorted(reasons))}")

    def add_failure(self, name, sentence):
        self.failed += 1
        self.bad.append((name, f"not ok - {sentence}\n", ""))


def tap_lines(out):
    """(passed, failed, [(line, reason)] of the skipped ones)."""
    ok, not_ok, skipped = 0, 0, []
    for line in out.splitlines():
        found = re.match(r"(not )?ok\b[ \d]*(?:- )?(.*)", line)
        if not found:
            continue
        skip = re.match(r"(.*?)\s*# *SKIP\S*\s*(.*)", found[2], re.I)
        if skip and not found[1]:
            skipped.append((skip[1], skip[2].strip() or "it gave no reason"))
        elif not found[1] or "# TODO" in line:
            ok += 1
        else:
            not_ok += 1
    return ok, not_ok, skipped


def read(log, suites, expected, code):
    """{suite: Suite} from meson's log (an iterable of lines) of a run that ended with `code`.

    `expected`: the names of all tests of the run.  A test without a result has failed, and so has a suite without
    tests."""
    found = {suite: Suite() for suite in suites}
    missing = collections.Counter(expected)

    def suite_of(name):  # "det:unit+no-valgrind / base/arena"
        words = re.split(r"[:+]", name.split(" / ")[0])[1:]
        return found[next(suite for suite in suites if suite in words)]

    for line in log:
        test = json.loads(line)
        missing[test["name"]] -= 1
        suite_of(test["name"]).add(test)
    for name in missing.elements():
        suite_of(name).add_failure(name, f"it left no result: meson ended with {code}")
    for suite, its in found.items():
        if not its.tests and not its.failed:
            its.add_failure(suite, "the suite has no tests in this build")
    if code and not any(its.failed for its in found.values()):
        found[suites[0]].add_failure("meson test", f"it ended with {code}")
    return found


def summary(results):
    """The last lines of a run, from [(build, Suite)]: what failed, what was skipped and why, the sum."""
    failed, skipped = [], {}
    for build, its in results:
        for name, out, _ in its.bad:
            failed.append(f"failed: {name} ({build})")
            failed += [f"    {line[:200]}" for line in dict.fromkeys(re.findall(r"^not ok\b(?!.*# TODO).*", out, re.M))][:5]
        for program, line, reason in its.skipped:
            builds = skipped.setdefault((program, reason), {}).setdefault(line, [])
            builds += [build] if build not in builds else []
    for (program, reason), lines in skipped.items():
        for builds in dict.fromkeys(tuple(builds) for builds in lines.values()):
            names = [line for line in lines if tuple(lines[line]) == builds and line]
            failed.append(f"skipped: {program} ({', '.join(builds)}): {reason}" + (": " if names else "") + ", ".join(names))
    total = [sum(its.passed for _, its in results), sum(its.failed for _, its in results),
             sum(len(its.skipped) for _, its in results)]
    return failed + ["{} passed, {} failed, {} skipped".format(*total)]
