# SPDX-License-Identifier: Apache-2.0
"""The rows of a document: each snippet, command, YAML, signature, default and promise has one.

    cluster = Cluster(slots=2)

    @row("000.1", "with det.keras.init() as train_context:")
    def _(check):
        check.assertIn("COMPLETED", ...)

    proved("000.2", "no launch layer needs to be specified",
           "tests/e2e/3017-keras-trainer.sh", "two slots are two processes")

    if __name__ == "__main__":
        main(cluster)

A row is a test: `check` is a unittest.TestCase.  A row of proved() names a test of another suite and fails if that
test is gone.  The numbers of a document are 1, 2, 3, ...; tools/check-tables counts the rows and compares them with
docs/FEATURES.md.  ROWS="000.1 000.7" in the environment runs these only.
"""
import inspect
import os
import re
import signal
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROWS = []
NOT_GIVEN = inspect.Parameter.empty


class Row(unittest.TestCase):
    maxDiff = None

    def __init__(self, name, quote, function):
        super().__init__("runTest")
        self.name, self.quote, self.function = name, quote, function

    def id(self):
        return f"{self.name} {self.quote}"

    def runTest(self):
        self.function(self)

    def has_signature(self, function, wanted):
        """`wanted`: (name, default) of each parameter, in order, and no other but keyword-only ones."""
        found = [(p.name, p.default) for p in inspect.signature(function).parameters.values()
                 if p.name != "self" and p.kind == p.POSITIONAL_OR_KEYWORD]
        self.assertEqual(found, wanted)

    def has_parameter(self, function, name, place, default=NOT_GIVEN):
        """`place` is the number of the parameter, from 0."""
        names = [p for p in inspect.signature(function).parameters if p != "self"]
        self.assertIn(name, names)
        self.assertEqual(names.index(name), place)
        self.assertEqual(inspect.signature(function).parameters[name].default, default)


def row(name, quote):
    def add(function):
        ROWS.append(Row(name, quote, function))
        return function

    return add


def has_test(path, sentence):
    """Whether the file has that test: a sentence of a shell script, `def test_...` or a row of Python."""
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return False
    name = re.escape(sentence)
    patterns = {".py": rf"^\s*def {name}\(|^@?(row|proved)\(\"{name}\"",
                ".sh": rf"(ok|same|soon|fails \d+) ['\"](\.\.\. )?{name}"}
    return re.search(patterns[os.path.splitext(path)[1]], text, re.M) is not None


def proved(name, quote, path, sentence):
    def check(test):
        test.assertTrue(has_test(path, sentence), f"{path} has no test '{sentence}'")

    ROWS.append(Row(name, quote, check))


class NothingIsLeft(unittest.TestCase):
    """After the rows: the platform ends with all of its processes."""

    def __init__(self, cluster):
        super().__init__("runTest")
        self.cluster = cluster

    def id(self):
        return "no process is left over"

    def runTest(self):
        self.assertEqual(self.cluster.stop() if self.cluster else [], [])


def main(cluster=None):
    wanted = os.environ.get("ROWS", "").split()
    chosen = [each for each in ROWS if not wanted or each.name in wanted]
    suite = unittest.TestSuite([*chosen, NothingIsLeft(cluster)])
    # unittest.main is the one of tests/support/tap.py, which knows where TAP goes
    sys.modules["__main__"].load_tests = lambda loader, tests, pattern: suite
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # meson's, when time is up: the platform ends, too
    try:
        unittest.main()
    finally:
        if cluster:
            cluster.stop()
