# SPDX-License-Identifier: Apache-2.0
"""Runs a Python test file and prints TAP: one line per test, with its time or the reason why it was skipped.

    python3 tests/support/tap.py tests/python/test_NAME.py [ARGS...]

The file ends with unittest.main() and runs as `__main__`; ARGS are unittest's (names of tests).  Standard output of
the tests goes to standard error, because standard output is TAP.
"""
import functools
import os
import re
import runpy
import sys
import time
import unittest


class Result(unittest.TestResult):
    """Prints one line per test to `out`."""

    def __init__(self, out=sys.stdout):
        super().__init__()
        self.out, self.count = out, 0
        self.started = time.monotonic()

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def print_line(self, test, is_ok, detail="", note=""):
        self.count += 1
        name = test.id().replace("__main__.", "", 1)
        print(f"{'ok' if is_ok else 'not ok'} {self.count} - {name}{note}", file=self.out, flush=True)
        detail = detail.split("Aria snapshot:")[0]  # the snapshot of a page is long
        for line in re.sub(r'  File "[^"]*site-packages[^\n]*\n(    [^\n]*\n)*', "", detail).splitlines():
            print("#   " + line, file=self.out, flush=True)

    def addSuccess(self, test):
        self.print_line(test, True, note=f" # {time.monotonic() - self.started:.2f} s")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.print_line(test, False, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.print_line(test, False, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:  # unittest does not report the test itself when a part of it failed
            kind = self.failures if issubclass(err[0], test.failureException) else self.errors
            self.print_line(subtest, False, kind[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.print_line(test, True, note=" # SKIP " + " ".join(reason.split()))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.print_line(test, True, note=" # fails, as expected")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.print_line(test, False, "it passed, but is marked as an expected failure")


class Runner:
    def __init__(self, out):
        self.out = out

    def run(self, suite):
        result = Result(self.out)
        suite.run(result)
        print(f"1..{result.count}", file=self.out, flush=True)
        return result


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    unittest.main = functools.partial(unittest.main, testRunner=Runner(out))
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except unittest.SkipTest as skipped:
        print(f"1..0 # SKIP {skipped}", file=out, flush=True)


if __name__ == "__main__":
    main()
