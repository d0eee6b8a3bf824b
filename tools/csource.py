"""Shared by the checkers: the C files of the tree, as text and as tokens.

Comments and strings are blanked, and of `#if ... #else ... #endif` the first branch is read.
"""
import os
import re
import sys
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Token = namedtuple("Token", "text line")

COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
TOKEN = re.compile(r'[A-Za-z_]\w*|\.?\d[\w.]*|""|->|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^=!<>]=|\S')


def c_files(*folders, ends=(".c", ".h")):
    """Paths below ROOT, sorted."""
    for folder in folders:
        for where, inner, names in os.walk(os.path.join(ROOT, folder)):
            inner.sort()
            for name in sorted(names):
                if name.endswith(ends):
                    yield os.path.relpath(os.path.join(where, name), ROOT)


def read(path):
    """The text; empty if the file has just been removed."""
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def room_of(path):
    """`src/master/api/x.c` is in master, `include/det/det.h` in include/det; else None."""
    part = path.split("/")
    return part[1] if part[0] == "src" and len(part) > 2 else "include/det" if part[0] == "include" else None


def without_comments(text):
    def blank(match):
        found = match.group()
        return re.sub(r"[^\n]", " ", found) if found[0] == "/" else found

    return re.sub(f"{COMMENT}|{STRING}", blank, text, flags=re.S)


def bare(text):
    """Also without the content of strings; every line keeps its number."""
    return re.sub(STRING, lambda m: '""' if m.group()[0] == '"' else "0", without_comments(text))


def includes(text):
    """(line, "<" or '"', path) of each #include."""
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
        if match:
            yield number, match.group(1), match.group(2)


def directives(text):
    """(line, text) of each preprocessor line, continuations joined."""
    lines = bare(text).split("\n")
    for i, line in enumerate(lines):
        if line.lstrip().startswith("#") and not (i and lines[i - 1].endswith("\\")):
            whole, last = line, i
            while whole.endswith("\\") and last + 1 < len(lines):
                last += 1
                whole = whole[:-1] + " " + lines[last]
            yield i + 1, whole.strip()


def tokens(text, with_directives=False):
    found, in_directive, skipping, depth = [], False, 0, 0
    for number, line in enumerate(bare(text).split("\n"), 1):
        word = re.match(r"\s*#\s*(\w*)", line)
        if word and not in_directive:
            depth += word.group(1).startswith("if")
            if word.group(1) in ("else", "elif") and not skipping:
                skipping = depth
            if word.group(1) == "endif":
                skipping = 0 if skipping == depth else skipping
                depth -= 1
        is_directive = bool(word) or in_directive
        in_directive = is_directive and line.endswith("\\")
        if (with_directives or not is_directive) and not skipping:
            found += [Token(t, number) for t in TOKEN.findall(line)]
    return found


def finish(findings):
    """Prints `path:line: what`, one a line, and ends the program."""
    for path, line, what in sorted(set(findings)):
        print(f"{path}:{line}: {what}")
    sys.exit(1 if findings else 0)
