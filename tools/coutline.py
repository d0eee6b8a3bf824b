"""The functions and variables of a C file, with their sizes.

This is not a compiler.  It knows enough C for sources in one style: a statement ends with `;` or is a
block; a function has parameters and a body at file scope.
"""
from collections import namedtuple

from csource import tokens

Function = namedtuple("Function", "name line last lines complexity nesting parameters")
# Those that live as long as the program: at file scope, or static in a function.
Variable = namedtuple("Variable", "name line")

LOOPS = ("for", "while", "switch")
BRANCHES = ("if", "for", "while", "case", "&&", "||", "?")
NO_VARIABLE = {"typedef", "extern", "_Static_assert", "static_assert"}
OPEN, CLOSE = ("(", "[", "{"), (")", "]", "}")


class Outline:
    """The functions and variables of one file, and the lines that are tables."""

    def __init__(self, text):
        self.tokens = tokens(text)
        self.functions, self.variables = [], []
        self.table_lines = 0  # inside initialisers at file scope
        self._file()

    def _at(self, i):
        return self.tokens[i].text if i < len(self.tokens) else ""

    def _match(self, i):
        """The place behind the bracket that closes the one at i."""
        depth = 0
        while i < len(self.tokens):
            depth += (self._at(i) in OPEN) - (self._at(i) in CLOSE)
            i += 1
            if not depth:
                break
        return i

    def _file(self):
        i, head = 0, []  # head: places of the declaration's tokens, bodies left out
        while i < len(self.tokens):
            text = self._at(i)
            words = [self._at(k) for k in head]
            if text == ";":
                self._variable(head)
                head, i = [], i + 1
            elif text == "{" and words[:1] == ["extern"] and words[-1:] == ['""']:
                head, i = [], i + 1  # extern "C" opens no scope
            elif text == "{" and words[-1:] == [")"] and "=" not in words and words[-3] != "__attribute__":
                i, head = self._function(head, i), []
            elif text in OPEN:
                end = self._match(i)
                if text == "{" and "=" in words:
                    self.table_lines += self.tokens[end - 1].line - self.tokens[i].line
                head, i = head + ([] if text == "{" else [i, end - 1]), end
            elif text == "}":
                head, i = [], i + 1
            else:
                head, i = head + [i], i + 1

    def _function(self, head, body):
        opened = head[-2]
        inner = self.tokens[opened + 1:head[-1]]
        depth, count = 0, 1
        for token in inner:
            depth += (token.text in OPEN) - (token.text in CLOSE)
            count += token.text == "," and not depth
        words = [t.text for t in inner]
        count = 0 if words in ([], ["void"]) else count - (words[-1] == "." and words[-3:] == ["."] * 3)
        count -= words[-4:] == ["struct", "err", "*", "err"]  # every function that can fail has it
        end = self._match(body)
        self.table = 0
        nesting = self._statement(body, 0)[1]
        first, last = self.tokens[head[0]].line, self.tokens[end - 1].line
        complexity = 1 + sum(t.text in BRANCHES and not (t.text == "case" and self._is_row(i))
                             for i, t in enumerate(self.tokens[body:end], body))
        self.functions.append(Function(self._at(opened - 1), first, last, last - first + 1 - self.table,
                                       complexity, nesting, count))
        return end

    def _is_row(self, i):
        """Labels of one branch (`case A: case B:`) count once; a case that only returns is a row of a table."""
        if self._at(i - 1) == ":":
            return True
        while self._at(i) == "case":
            while self._at(i) != ":":
                i += 1
            i += 1
        return self._at(i) == "return"

    def _statement(self, i, depth):
        """(the place behind the statement at i, the deepest nesting in it)."""
        text, deepest = self._at(i), depth
        if text == "{":
            i += 1
            while i < len(self.tokens) and self._at(i) != "}":
                i, below = self._statement(i, depth)
                deepest = max(deepest, below)
            return i + 1, deepest
        if text == "if":
            i, deepest = self._statement(self._match(i + 1), depth + 1)
            if self._at(i) == "else":
                i, below = self._statement(i + 1, depth + (self._at(i + 1) != "if"))
                deepest = max(deepest, below)
            return i, deepest
        if self._at(i + 1) == "(" and self._is_loop(text, self._match(i + 1)):
            return self._statement(self._match(i + 1), depth + 1)
        if text == "do":
            i, deepest = self._statement(i + 1, depth + 1)
            return self._match(i + 1) + 1, deepest
        if text in ("case", "default") or (text.isidentifier() and self._at(i + 1) == ":"):
            while self._at(i) != ":":
                i += 1
            return (i + 1, depth) if self._at(i + 1) == "}" else self._statement(i + 1, depth)
        return self._simple(i), depth

    def _is_loop(self, word, behind):
        """Ours count as well: json_each(item, list) statement."""
        is_block = self._at(behind) == "{" and word != "return" and word.isidentifier()
        is_each = "each" in word.lower().split("_") and self._at(behind) != ";"
        return word in LOOPS or is_each or is_block

    def _simple(self, i):
        """Behind the `;`; notes what is static, and the lines of a local table."""
        start, head = i, []
        while i < len(self.tokens) and self._at(i) != ";":
            end = self._match(i) if self._at(i) in OPEN else i + 1
            if self._at(i) == "{" and self._at(start) == "static":
                self.table += self.tokens[end - 1].line - self.tokens[i].line
            head += [i] if end == i + 1 else [] if self._at(i) == "{" else [i, end - 1]
            i = end
        if self._at(start) == "static":
            self._variable(head)
        return i + 1

    def _variable(self, head):
        words = [self._at(k) for k in head]
        if "=" in words:
            words = words[:words.index("=")]
        named = [k for k, w in zip(head, words) if w.isidentifier()]
        if len(named) < 2 or not NO_VARIABLE.isdisjoint(words) or words[-2].endswith("_fn"):
            return  # the last: a function declared by its type
        is_pointer_to_function = any(self._at(k) == "(" and self._at(k + 1) == "*" for k in head)
        is_type_only = words[0] in ("struct", "union", "enum") and len(words) <= 2
        if is_type_only or ("(" in words and not is_pointer_to_function):
            return
        stars = [n for n, w in enumerate(words) if w == "*"]
        if "const" in words[stars[-1] if stars else 0:]:
            return
        at = head[words.index("(")] + 2 if is_pointer_to_function and "(" in words else named[-1]
        self.variables.append(Variable(self._at(at), self.tokens[at].line))
