# SPDX-License-Identifier: Apache-2.0
"""No API accepts an argument that it ignores: arguments.txt names, for each public argument of the package, the test
that shows its effect.  An argument that is not in that file fails; so do a line for an argument that is gone and a test
that does not exist.  arguments.txt explains its own form.

    tests/python/run tests/seeds/test_arguments.py --list    prints what the file should name
"""
import importlib
import inspect
import os
import re
import sys
import unittest

from rows import has_test

MODULES = [
    "determined", "determined.core", "determined.keras", "determined.keras.callbacks", "determined.keras.data",
    "determined.experimental.keras", "determined.pytorch", "determined.pytorch.experimental",
    "determined.pytorch.samplers", "determined.transformers", "determined.lightning",
    "determined.lightning.experimental", "determined.launch",
]
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "arguments.txt")


def is_ours(thing):
    return (getattr(thing, "__module__", None) or "").split(".")[0] == "determined"


def is_of_a_framework(cls, name):
    """A method that Keras, PyTorch or Lightning calls has the arguments that they give it."""
    return any(name in vars(base) for base in cls.__mro__[1:] if base is not object and not is_ours(base))


def parameters(function, skips=0):
    return list(inspect.signature(function).parameters)[skips:]


class Public:
    """{"determined.core.init": ["distributed", ...]} of every public function and method with arguments."""

    def __init__(self):
        self.found, self.seen, self.classes = {}, set(), {}
        things = [(f"{module}.{name}", thing) for module in MODULES for name, thing in self.public(module)]
        for path, thing in things:
            if inspect.isclass(thing) and self.rank(path, thing) > self.rank(self.classes.get(thing, ""), thing):
                self.classes[thing] = path
        for path, thing in things:
            if inspect.isclass(thing):
                self.add_class(thing)
            elif inspect.isfunction(thing) and thing not in self.seen:
                self.seen.add(thing)
                self.found[path] = parameters(thing)
        self.found = {path: names for path, names in self.found.items() if names}
        self.add_options()

    @staticmethod
    def rank(path, cls):
        """A class with several names is known by its own name, in the module that defines it; else by the first."""
        module, _, name = path.rpartition(".")
        return bool(path) + 2 * (name == cls.__name__) + (module == cls.__module__)

    def add_options(self):
        """Options of the launch layers that Python reads; `det launch` reads the others."""
        launch = importlib.import_module("determined.launch")
        torch = importlib.import_module("determined.launch.torch_distributed")
        self.found["python3 -m determined.launch.NAME"] = list(launch._TAKE_A_VALUE)
        self.found["python3 -m determined.launch.torch_distributed"] = [
            *torch._TAKEN, "rdzv-endpoint", *torch._LEFT_OUT, *torch._FLAGS_LEFT_OUT,
        ]

    def public(self, module):
        """A module without __all__ offers what it defines."""
        package = importlib.import_module(module)
        names = getattr(package, "__all__", None)
        if names is None:
            names = [name for name, thing in vars(package).items()
                     if not name.startswith("_") and getattr(thing, "__module__", None) == module]
        things = [(name, getattr(package, name)) for name in names]
        return [(name, thing) for name, thing in things if is_ours(thing)]

    def add_class(self, cls):
        """Methods of private bases count as those of the class."""
        for base in cls.__mro__:
            if not is_ours(base) or (base is not cls and base in self.classes):
                continue
            for name, method in vars(base).items():
                if name.startswith("_") and (name != "__init__" or "__init__" in vars(cls) and base is not cls):
                    continue
                path = f"{self.classes[cls]}.{name}"
                if path in self.found or (name != "__init__" and is_of_a_framework(base, name)):
                    continue
                skips = 0 if isinstance(method, staticmethod) else 1
                function = getattr(method, "__func__", method)
                if inspect.isfunction(function) and function not in self.seen:
                    self.seen.add(function)
                    self.found[path] = parameters(function, skips)


class Table:
    """arguments.txt: {(callable, argument): (file, test)}, {(callable, argument): reason}, the number of reasons."""

    def __init__(self):
        self.tested, self.untested, self.problems, self.limit = {}, {}, [], None
        callable_, path = None, None
        with open(TABLE, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                line = line.split("#")[0].rstrip()
                if not line:
                    continue
                if line.startswith("untested: "):
                    self.limit = int(line.split()[1])
                elif line.startswith("in "):
                    path = line.split()[1]
                elif not line.startswith(" "):
                    callable_ = line.strip()
                else:
                    self.read_row(number, callable_, path, line)

    def read_row(self, number, callable_, path, line):
        names, what = [*re.split(r"\s\s+", line.strip(), maxsplit=1), ""][:2]
        for name in names.split():
            key = callable_, name
            if key in self.tested or key in self.untested or not what:
                self.problems.append(f"arguments.txt:{number}: {callable_}({name}) is twice there, or without a test")
            elif what.startswith("- "):
                self.untested[key] = what[2:]
            else:
                words = what.split(None, 1)
                has_file = len(words) == 2 and words[0].endswith((".py", ".sh"))
                self.tested[key] = tuple(words) if has_file else (path, what)


def file_of(path):
    return path if path.startswith("tests/") else "tests/python/" + path


class Arguments(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.public, cls.table = Public().found, Table()

    def keys(self):
        for callable_, names in self.public.items():
            for name in names:
                yield callable_, name

    def known(self, callable_, name):
        rows = {**self.table.tested, **self.table.untested}
        return (callable_, name) in rows or (callable_, "*") in rows

    def test_the_file_can_be_read(self):
        self.assertEqual(self.table.problems, [])

    def test_each_public_argument_is_named(self):
        missing = [f"{callable_}({name})" for callable_, name in self.keys() if not self.known(callable_, name)]
        self.assertEqual(missing, [], "arguments.txt does not say which test shows their effect")

    def test_what_is_named_exists(self):
        keys = set(self.keys()) | {(callable_, "*") for callable_ in self.public}
        gone = [f"{callable_}({name})" for callable_, name in {**self.table.tested, **self.table.untested}
                if (callable_, name) not in keys]
        self.assertEqual(gone, [], "there are no such arguments (any more)")

    def test_the_tests_exist(self):
        gone = {f"{path} {test}" for path, test in self.table.tested.values() if not has_test(file_of(path), test)}
        self.assertEqual(sorted(gone), [])

    def test_arguments_without_a_test_become_fewer(self):
        """`*`, whole methods that a program does not call, is not counted."""
        untested = {key: why for key, why in self.table.untested.items() if key[1] != "*"}
        for (callable_, name), why in untested.items():
            print(f"no test shows the effect of {callable_}({name}): {why}", file=sys.stderr)
        self.assertLessEqual(len(untested), self.table.limit, "only a smaller number may be in the file")
        self.assertEqual(len(untested), self.table.limit, "write the smaller number into the file")


if __name__ == "__main__":
    if "--list" in sys.argv:
        for callable_, names in Public().found.items():
            print(callable_, *names)
        sys.exit()
    unittest.main()
