"""The parser of expressions, by precedence climbing, and the words that it goes through."""

from __future__ import annotations

from typing import NoReturn

from . import tree
from .tokens import Token, fault, tokens
from .words import C_WORDS, TYPES

LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
"""Operators of two values, those that bind least first."""

BINDING = {sign: level for level, signs in enumerate(LEVELS) for sign in signs}
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
OPENING = {")": "(", "]": "[", "}": "{"}
_OTHER_TYPES = {
    "float": "real", "double": "real", "long": "int", "short": "int", "unsigned": "int",
    "signed": "int", "char": "int", "auto": "real",
}  # fmt: skip
INSTEAD = {
    "switch": "write if (...) { } else if (...) { }",
    "goto": "write a loop with break",
    "return": "it stands in functions alone; write if (...) { } around what follows",
    "struct": "write one name for each number",
    "else": "it has no if; a brace or a semicolon before it ends the statement",
}


class WordParser:
    """Reads one text from its first word to its last."""

    def __init__(
        self,
        source: str,
        where: str,
        equation: bool = False,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.source, self.where, self.equation = source, where, equation
        self.words = tokens(source, where, span, signs=equation)
        self.number = 0
        self.opened: list[Token] = []
        self.within = False  # a function

    # -- words ----------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.words[self.number]

    def ahead(self, count: int) -> Token:
        """Return a later word."""
        return self.words[min(self.number + count, len(self.words) - 1)]

    def take(self, *wanted: str) -> Token | None:
        """Return the next word and go on behind it, if it is one of those wanted."""
        word = self.next
        if word.text not in wanted or word.kind not in ("mark", "name"):
            return None
        self.number += 1
        if word.text in "([{":
            self.opened.append(word)
        elif word.text in OPENING and self.opened:
            self.opened.pop()
        return word

    def fail(self, said: str, at: int | None = None) -> NoReturn:
        """Raise the error of a fault at a place, by default that of the next word."""
        raise fault(self.source, self.where, self.next.at if at is None else at, said)

    def expect(self, mark: str, after: str = "") -> Token:
        """Return a mark that has to come now."""
        word = self.take(mark)
        if word is not None:
            return word
        before, found = self.words[self.number - 1] if self.number else None, self.next
        if mark == ";" and before is not None:
            if found.text in OPENING and (not self.opened or _unlike(self.opened[-1], found)):
                self.fail(f"'{found.text}' closes nothing that is open")
            if found.text == "=" or found.text in ASSIGNMENTS:
                self.fail(f"'{found.text}' has to follow a name; one statement has one of them")
            self.fail(f"a ';' is missing after '{before.text}'", max(before.at, before.end - 1))
        if mark in OPENING and self.opened:
            begin = self.opened[-1]
            if found.kind == "end" or found.text in (";", "{", "}"):
                self.fail(f"the '{begin.text}' that stands here is not closed", begin.at)
        description = f"'{found.text}'" if found.text else "the end of the text"
        self.fail(f"'{mark}' is expected{after}, and {description} stands here")

    def type_word(self) -> str | None:
        word = self.next.text
        if word in TYPES:
            self.number += 1
            return word
        if word in _OTHER_TYPES:
            types = ", ".join(TYPES[:-1]) + f" and {TYPES[-1]}"
            self.fail(f"'{word}' is no type; write '{_OTHER_TYPES[word]}' (types are {types})")
        return None

    def name_word(self, what: str) -> Token:
        word = self.next
        if word.kind != "name" or word.text in C_WORDS:
            description = f"'{word.text}'" if word.text else "the end of the text"
            self.fail(f"{what} is expected, and {description} stands here")
        self.number += 1
        return word


class ExpressionParser(WordParser):
    """Reads expressions."""

    def expression(self) -> tree.Expression:
        """Return an expression, ``?:`` included."""
        condition = self._binary(0)
        if not self.take("?"):
            return condition
        yes = self.expression()
        self.expect(":", " between the two values of '?'")
        return tree.Ternary(condition, yes, self.expression(), at=condition.at)

    def _binary(self, least: int) -> tree.Expression:
        value = self._unary()
        while (level := BINDING.get(self.next.text, -1)) >= least and self.next.kind == "mark":
            sign = self.next
            self.number += 1
            value = tree.Binary(sign.text, value, self._binary(level + 1), at=sign.at)
        if self.next.text == "**":
            self.fail("'**' is not part of the language; write pow(x, y)")
        return value

    def _unary(self) -> tree.Expression:
        at = self.next.at
        if sign := self.take("-", "+", "!", "~"):
            return tree.Unary(sign.text, self._unary(), at=at)
        if self.next.text == "(" and self.ahead(1).text in (*TYPES, *_OTHER_TYPES):
            self.take("(")
            kind = self.type_word() or ""
            self.expect(")", " after the type")
            return tree.Cast(kind, self._unary(), at=at)
        value = self._primary()
        if self.equation and self.next.text == "**":
            self.number += 1
            return tree.Call("pow", (value, self._unary()), at=at)
        return value

    def _primary(self) -> tree.Expression:
        word = self.next
        if word.text in ("PRINT", "ERROR"):
            self.fail(f"{word.text} is for statements, in 'update'; a value is wanted here")
        if self.take("("):
            value = self.expression()
            self.expect(")")
            return value
        if word.kind == "number":
            self.number += 1
            return tree.Number(word.text, at=word.at)
        asks = word.text == "default" and self.ahead(1).text == "("
        usable = word.text not in C_WORDS or word.text in ("true", "false") or asks
        if word.kind == "name" and usable:
            self.number += 1
            return self._named(word)
        before = self.words[self.number - 1].text if self.number else ""
        after = f" after '{before}'" if before else ""
        if word.text in INSTEAD or word.text in C_WORDS:
            hint = f"; {INSTEAD[word.text]}" if word.text in INSTEAD else ""
            self.fail(f"'{word.text}' is no value{hint}")
        if word.kind == "string":
            self.fail("'\"' is not part of the language, but in PRINT and ERROR")
        description = f"'{word.text}' stands here" if word.text else "the text ends"
        self.fail(f"a value is missing{after}; {description}")

    def _named(self, word: Token) -> tree.Expression:
        """Return what begins with a name."""
        if self.take("("):
            return self._call(word)
        path = [word.text]
        while self.take("."):
            path.append(self.name_word("a name after '.'").text)
        if not self.take("["):
            if len(path) > 1:
                return tree.Path(tuple(path), at=word.at)
            return tree.Name(word.text, at=word.at)
        indices, ago = [self.expression()], None
        while self.take(","):
            if self.next.text == "ago" and self.ahead(1).text == "=":
                self.number += 2
                ago = self.expression()
                break
            indices.append(self.expression())
        self.expect("]")
        if not len(path) == len(indices) == 1 or ago is not None:
            return tree.Item(tuple(path), tuple(indices), ago, at=word.at)
        if self.take("["):
            return tree.Item(tuple(path), tuple(self._listed("]")), of=indices[0], at=word.at)
        if self.take("."):
            path.append(self.name_word("a name after '.'").text)
            return tree.Path(tuple(path), indices[0], at=word.at)
        return tree.Element(word.text, indices[0], at=word.at)

    def _listed(self, end: str) -> list[tree.Expression]:
        """Return expressions with commas between them, up to a mark."""
        found = [self.expression()]
        while self.take(","):
            found.append(self.expression())
        self.expect(end)
        return found

    def _call(self, word: Token) -> tree.Expression:
        arguments: list[tree.Expression] = []
        while self.next.text != ")":
            arguments.append(self.expression())
            if not self.take(","):
                break
        self.expect(")")
        return tree.Call(word.text, tuple(arguments), at=word.at)


def _unlike(opening: Token, closing: Token) -> bool:
    return OPENING[closing.text] != opening.text
