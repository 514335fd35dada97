"""The parser: a text -> its tree. What a name means is no question here (`check`).

Recursive descent for statements, precedence climbing for expressions. The grammar is C's, without
what models have no use for: assignments are statements, types are ``real``, ``int`` and ``bool``,
and there are no pointers, no ``switch`` and no ``goto``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NoReturn, TypeVar, cast

from ...errors import near
from . import tree
from .expressions import ASSIGNMENTS, INSTEAD, OPENING, ExpressionParser
from .tokens import Token
from .words import C_WORDS, TYPES


@lru_cache(maxsize=4096)
def parse(text: str, where: str = "text", equation: bool = False) -> tree.Body:
    """Return the tree of statements.

    Parameters
    ----------
    where : str
        What messages call the text, for instance ``"LeakyIAF.update"``.
    equation : bool
        As `parse_expression` takes it.

    Raises
    ------
    ModelError
        At the first fault of the grammar, with line and column.
    """
    parser = _TextParser(text, where, equation)
    return _limited(parser, parser.whole)


@lru_cache(maxsize=4096)
def parse_expression(
    text: str,
    where: str = "text",
    equation: bool = False,
    span: tuple[int, int] | None = None,
) -> tree.Expression:
    """Return the tree of one expression; as `parse`.

    With ``equation``, ``x**y`` is ``pow(x, y)``, and ``and``, ``or`` and ``not`` are signs.
    ``span`` is the part of the text that is read.
    """
    parser = _TextParser(text, where, equation, span)
    return _limited(parser, parser.single)


@lru_cache(maxsize=512)
def parse_functions(text: str, where: str = "functions") -> tuple[tree.Function, ...]:
    """Return the functions that a text defines; as `parse`."""
    parser = _TextParser(text, where)
    return _limited(parser, parser.functions)


Found = TypeVar("Found", tree.Body, tree.Expression, tuple[tree.Function, ...])


def _limited(parser: _TextParser, read: Callable[[], Found]) -> Found:
    """Return what a parser reads; raise ModelError where it is nested too deeply."""
    try:
        found = read()
    except RecursionError:
        parser.fail(TOO_DEEP)
    nodes: tuple[tree.Node, ...] = found if isinstance(found, tuple) else (found,)
    for one in nodes:
        deep = tree.below(one, MOST_LEVELS)
        if deep is not None:
            parser.fail(TOO_DEEP, deep.at)
    return found


MOST_LEVELS = 320
"""Expressions inside each other, at most; Python's stack may allow fewer."""

TOO_DEEP = (
    "brackets, braces or the terms of one sum are nested too deeply; 100 levels are always "
    "possible: write it in several statements"
)
"""What is said of a text that Python's stack does not allow."""

LOOPS = ("for", "while", "do")

MOST_UNROLLED = 1024
"""Passes of a loop that a text may ask to be written out, at most."""


class _TextParser(ExpressionParser):
    """Reads one text from its first word to its last."""

    # -- whole texts ----------------------------------------------------------------------------

    def whole(self) -> tree.Body:
        """Return all statements."""
        found: list[tree.Statement] = []
        while self.next.kind != "end":
            if self.next.text in OPENING:
                self.fail(f"'{self.next.text}' closes nothing that is open")
            found += self.statement()
        return tree.Body(tuple(found), at=0)

    def single(self) -> tree.Expression:
        """Return the one expression."""
        value = self.expression()
        if self.next.kind != "end":
            self._no_more()
        return value

    def _no_more(self) -> NoReturn:
        found = self.next
        if found.text in ASSIGNMENTS:
            hint = "; compare with '=='" if found.text == "=" else ""
            self.fail(f"'{found.text}' assigns, and only a value is wanted here{hint}")
        if found.text == ";":
            self.fail("an expression has no ';'; statements belong into 'update'")
        if found.text in OPENING:
            self.fail(f"'{found.text}' closes nothing that is open")
        self.fail(f"an operator is missing before '{found.text}'")

    def functions(self) -> tuple[tree.Function, ...]:
        """Return all functions."""
        found = []
        self.within = True
        while self.next.kind != "end":
            begin, kind = self.next.at, self.type_word()
            if kind is None:
                form = "real name(real x) { return ...; }"
                self.fail(f"a function begins with the type of its value: {form}")
            name = self.name_word("the name of a function").text
            self.expect("(", " after the name of a function")
            parameters = []
            while self.next.text != ")":
                at, one = self.next.at, self.type_word()
                if one is None:
                    self.fail(f"a parameter needs a type: real {self.next.text}")
                word = self.name_word("the name of a parameter")
                parameters.append(tree.Declaration(one, word.text, at=at))
                if not self.take(","):
                    break
            self.expect(")")
            if self.next.text != "{":
                self.fail(f"'{{' is expected: the body of '{name}' stands in braces")
            (body,) = self.statement()
            assert isinstance(body, tree.Body)
            found.append(tree.Function(kind, name, tuple(parameters), body, at=begin))
        return tuple(found)

    # -- statements -----------------------------------------------------------------------------

    def statement(self) -> list[tree.Statement]:
        """Return one statement; several where one line declares several names."""
        at, word = self.next.at, self.next.text
        if self.take(";"):
            return []
        if self.take("{"):
            return [self._braces(at)]
        if self.next.kind == "name":
            if word in LOOPS or word == "if" or (word == "unroll" and self.ahead(1).text == "("):
                self.number += 1
                return [getattr(self, f"_{word}")(at)]
            if word in ("PRINT", "ERROR"):
                return [self._print(at)]
            if word == "ENSURE" and self.words[self.number + 1].text == "(":
                return [self._ensure(at)]
            if word in ("break", "continue"):
                self.number += 1
                self.expect(";")
                return [tree.Jump(word, at=at)]
            if word == "return" and self.within:
                self.number += 1
                value = self.expression()
                self.expect(";")
                return [tree.Return(value, at=at)]
            if word in INSTEAD:
                self.fail(f"'{word}' is not part of the language here; {INSTEAD[word]}")
        found = self._simple()
        self.expect(";")
        return found

    def _braces(self, at: int) -> tree.Body:
        found: list[tree.Statement] = []
        while self.next.text != "}":
            if self.next.kind == "end":
                self.fail("the '{' that stands here is not closed", self.opened[-1].at)
            if self.next.text in OPENING:
                self.fail(f"'{self.next.text}' closes nothing that is open")
            found += self.statement()
        self.expect("}")
        return tree.Body(tuple(found), at=at)

    def _one(self) -> tree.Body:
        """Return what an ``if`` or a loop governs, as if it stood in braces."""
        at, found = self.next.at, self.statement()
        if len(found) == 1 and isinstance(found[0], tree.Body):
            return found[0]
        return tree.Body(tuple(found), at=at)

    def _condition(self, word: str) -> tree.Expression:
        self.expect("(", f" after '{word}'")
        value = self.expression()
        if self.next.text == "=":
            self.fail("'=' assigns; compare with '=='")
        self.expect(")")
        return value

    def _if(self, at: int) -> tree.Statement:
        condition, then = self._condition("if"), self._one()
        other = self._one() if self.take("else") else None
        return tree.If(condition, then, other, at=at)

    def _while(self, at: int) -> tree.Statement:
        return tree.While(self._condition("while"), self._one(), at=at)

    def _do(self, at: int) -> tree.Statement:
        body = self._one()
        if not self.take("while"):
            self.fail("'while (...)' is expected: it ends what begins with 'do'")
        condition = self._condition("while")
        self.expect(";")
        return tree.While(condition, body, True, at=at)

    def _for(self, at: int) -> tree.Statement:
        self.expect("(", " after 'for'")
        if self.next.kind == "name" and self.ahead(1).text == ":":
            name = self.name_word("the variable of a loop").text
            self.number += 1
            over = self.expression()
            self.expect(")")
            return tree.Each(name, over, self._one(), at=at)
        begin = [] if self.next.text == ";" else self._simple()
        self.expect(";")
        condition = None if self.next.text == ";" else self.expression()
        self.expect(";")
        after = [] if self.next.text == ")" else self._simple()
        self.expect(")")
        return tree.For(tuple(begin), condition, tuple(after), self._one(), at=at)

    def _unroll(self, at: int) -> tree.Statement:
        """Return the loop behind ``unroll(4)``."""
        count = self.ahead(1)
        if not (count.text.isdigit() and 1 <= int(count.text) <= MOST_UNROLLED):
            self.fail(f"unroll takes a whole number, 1 to {MOST_UNROLLED}: unroll(4)", count.at)
        if self.ahead(2).text != ")" or self.ahead(3).text not in LOOPS:
            self.fail("unroll stands before a loop: unroll(4) for (...) { ... }", at)
        self.number += 3
        loop: Any = self.statement()[0]
        return cast("tree.Statement", replace(loop, unroll=int(count.text)))

    def _simple(self) -> list[tree.Statement]:
        """Return a declaration, an assignment or a change by one; or several, with commas."""
        const = self.take("const") is not None
        kind = self.type_word()
        if const and kind is None:
            self.fail("'const' needs a type: const real")
        one = self._assignment if kind is None else lambda: self._declaration(kind, const)
        found: list[tree.Statement] = [one()]
        while self.take(","):
            found.append(one())
        return found

    def _declaration(self, kind: str, const: bool) -> tree.Statement:
        word = self.name_word("the name of a variable")
        value, length, size = None, "", None
        values: list[tree.Expression] = []
        if self.take("["):
            named = self.next.kind == "name" and self.next.text not in C_WORDS
            if not named and (not self.next.text.isdigit() or int(self.next.text) < 1):
                self.fail("the size of an array is a whole number, such as 4")
            length, size = self.next.text * named, 0 if named else int(self.next.text)
            self.number += 1
            self.expect("]")
        if self.take("=") and size is None:
            value = self.expression()
        elif self.words[self.number - 1].text == "=":
            self.expect("{", f" before the {length or size} values of '{word.text}'")
            while self.next.text != "}":
                values.append(self.expression())
                if not self.take(","):
                    break
            self.expect("}")
        given = value, size, tuple(values), const, length
        return tree.Declaration(kind, word.text, *given, at=word.at)

    def _assignment(self) -> tree.Statement:
        at = self.next.at
        if change := self.take("++", "--"):
            return tree.Increment(self._target(self.expression()), change.text, at=at)
        value = self.expression()
        if change := self.take("++", "--"):
            return tree.Increment(self._target(value), change.text, at=at)
        if sign := self.take(*ASSIGNMENTS):
            target = self._target(value)
            return tree.Assignment(target, sign.text, self.expression(), at=at)
        if isinstance(value, tree.Name) and self.next.kind == "name":
            hint = near(value.name, TYPES)
            types = ", ".join(TYPES)
            self.fail(f"'{value.name}' is no type{hint}; types are {types}", value.at)
        return tree.Bare(value, at=at)

    def _target(self, value: tree.Expression) -> tree.Target:
        if isinstance(value, tree.Target):
            return value
        self.fail("only a name, or an element of an array, can be assigned to", value.at)

    def _ensure(self, at: int) -> tree.Statement:
        """Return ``ENSURE(condition, "format", values);`` as an ERROR where it does not hold."""
        word, say = self.next, "ENSURE needs a condition, a comma and a text in quotes"
        self.number += 2
        wanted = None if self.next.kind == "string" else self.expression()
        if wanted is None or not self.take(",") or self.next.kind != "string":
            self.fail(f'{say}: ENSURE(V < 1, "V %f", V);', word.at)
        error = self._said(word, at)
        return tree.If(tree.Unary("!", wanted, at=at), tree.Body((error,), at=at), at=at)

    def _print(self, at: int) -> tree.Statement:
        word = self.next
        self.number += 1
        opening = self.take("(")
        if opening is None or self.next.kind != "string":
            self.fail(f'{word.text} needs a text in quotes first: PRINT("V %f", V);', word.at)
        return self._said(word, at)

    def _said(self, word: Token, at: int) -> tree.Statement:
        """Return the statement of a text in quotes and its values, up to the semicolon."""
        form = self.next.text[1:-1]
        self.number += 1
        values = []
        while self.take(","):
            if self.next.text in (",", ")"):
                self.fail(f"{word.text}: a value is missing between two commas")
            if self.next.kind == "string":
                self.fail(f"{word.text}: '{self.next.text}' is no number")
            values.append(self.expression())
        if self.next.text != ")" and self.next.kind in ("name", "number", "string"):
            self.fail(f"{word.text}: a comma has to follow the text in quotes")
        if not self.take(")") or not self.take(";"):
            self.fail(f"{word.text} needs a closing bracket and a semicolon", word.at)
        return tree.PrintCall(word.text != "PRINT", form, tuple(values), at=at)
