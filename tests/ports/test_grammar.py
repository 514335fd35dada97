"""The grammar of selectors: every form, every fault with its place."""

from __future__ import annotations

import pytest

from neurodriver.compat.ports import Selector, SelectorMethods
from neurodriver.errors import NeurodriverError, SelectorError
from neurodriver.ports.grammar import SHORT, parse_list, parse_text, tokenize

FORMS = {
    # one token per level
    "/foo": [("foo",)],
    "/foo/bar": [("foo", "bar")],
    "/a/b/c/d/e": [("a", "b", "c", "d", "e")],
    # integers in every spelling
    "/foo[0]": [("foo", 0)],
    "/foo/0": [("foo", 0)],
    "/foo/[0]": [("foo", 0)],
    "/foo/007": [("foo", 7)],
    # sets
    "/foo[0,2]": [("foo", 0), ("foo", 2)],
    "/foo[2,0,2]": [("foo", 2), ("foo", 0), ("foo", 2)],
    "/foo[a,b]": [("foo", "a"), ("foo", "b")],
    "/foo/[a,b]": [("foo", "a"), ("foo", "b")],
    "/[foo,bar]/x": [("foo", "x"), ("bar", "x")],
    "/[a,b][0,1]": [("a", 0), ("a", 1), ("b", 0), ("b", 1)],
    # intervals
    "/foo[0:3]": [("foo", 0), ("foo", 1), ("foo", 2)],
    "/foo/[0:3]": [("foo", 0), ("foo", 1), ("foo", 2)],
    "/foo[:3]": [("foo", 0), ("foo", 1), ("foo", 2)],
    "/foo[2:4]/x": [("foo", 2, "x"), ("foo", 3, "x")],
    # empty intervals vanish
    "/a[0:0]": [()],
    "/a[3:1]": [()],
    "/a[0:0],/b": [("b",)],
    "/a[0:0]+/b": [()],
    "(/a[0:0].+/b[0:0])+/c": [()],
    # union: order and repeats are kept
    "/a,/b[0]": [("a",), ("b", 0)],
    "/b,/a,/b": [("b",), ("a",), ("b",)],
    # product
    "/foo+/bar": [("foo", "bar")],
    "(/a,/b)+(/c,/d)": [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")],
    "/foo/qux+[0,1]": [("foo", "qux", 0), ("foo", "qux", 1)],
    "(/a[0:2],/c)+(/x,/y)": [
        ("a", 0, "x"), ("a", 1, "x"), ("a", 0, "y"), ("a", 1, "y"), ("c", "x"), ("c", "y"),
    ],
    # one by one
    "/[a,b].+[0:2]": [("a", 0), ("b", 1)],
    "/[a,b].+/[c,d].+[0:2]": [("a", "c", 0), ("b", "d", 1)],
    "(/a,/b/c).+(/x,/y)": [("a", "x"), ("b", "c", "y")],
    "/foo[0:2].+/bar[0:2]": [("foo", 0, "bar", 0), ("foo", 1, "bar", 1)],
    # grouping; a level may follow
    "(/a,/b)": [("a",), ("b",)],
    "(/a,/b)[0:2]": [("a", 0), ("a", 1), ("b", 0), ("b", 1)],
    "((/a))/x": [("a", "x")],
    "(/[a,b].+[0:2])+(/x,/y[0:2])": [
        ("a", 0, "x"), ("a", 0, "y", 0), ("a", 0, "y", 1),
        ("b", 1, "x"), ("b", 1, "y", 0), ("b", 1, "y", 1),
    ],
    # a leading level without slash
    "[0:2]": [(0,), (1,)],
    "0": [(0,)],
    "[a,b]": [("a",), ("b",)],
    "12/a": [(12, "a")],
    # empty
    "": [()],
    " \t": [()],
    # characters that names may hold
    "/foo bar": [("foo bar",)],
    "/a-b/_c/d!?/#e/f=g": [("a-b", "_c", "d!?", "#e", "f=g")],
    "/größe/λ": [("größe", "λ")],
    "/a0b": [("a0b",)],
    "/+a": [("+a",)],
    "[-1]": [("-1",)],
    "/a ,/b": [("a ",), ("b",)],
}  # fmt: skip

PRECEDENCE = {
    "/foo+/bar,/baz": [("foo", "bar"), ("baz",)],
    "/a+(/b,/c),/d": [("a", "b"), ("a", "c"), ("d",)],
    "/[a,b].+/[c,d],/e": [("a", "c"), ("b", "d"), ("e",)],
    "([a,b].+/[c,d]),/e": [("a", "c"), ("b", "d"), ("e",)],
    "/e,/[a,b].+/[c,d]": [("e",), ("a", "c"), ("b", "d")],
    "/x+/[a,b].+[0:2]": [("x", "a", 0), ("x", "b", 1)],
    "/[a,b].+[0:2]+/x": [("a", 0, "x"), ("b", 1, "x")],
}

FAULTS = {  # the text, how the error begins, the character that the caret shows
    "foo[0]": ("Cannot tokenize", 1),
    "/a.b": ("Cannot tokenize", 3),
    "/0a": ("Cannot tokenize", 3),
    "/a/": ("Cannot tokenize", 3),
    "//": ("Cannot tokenize", 1),
    "/a, /b": ("Cannot tokenize", 4),
    "/a[a,0]": ("Cannot tokenize", 3),
    "/a[0,a]": ("Cannot tokenize", 3),
    "[0,2:4]": ("Cannot tokenize", 1),
    "/a[0:4:2]": ("Cannot tokenize", 3),
    "/a[0,]": ("Cannot tokenize", 3),
    "/a[b,]": ("Cannot tokenize", 3),
    "/a[]": ("Cannot tokenize", 3),
    "/a[": ("Cannot tokenize", 3),
    "/a]": ("Cannot tokenize", 3),
    "/a[+b]": ("Cannot tokenize", 3),
    "/a*": ("Cannot tokenize", 3),
    "*": ("Cannot tokenize", 1),
    "/a:b": ("Cannot tokenize", 3),
    "/a[99999999999999999999]": ("Cannot tokenize", 3),
    "/a,": ("Cannot parse", 4),
    ",/a": ("Cannot parse", 1),
    "/a,,/b": ("Cannot parse", 4),
    "/a+": ("Cannot parse", 4),
    "/a.+": ("Cannot parse", 5),
    "+/a": ("Cannot parse", 1),
    "(/a": ("Cannot parse", 4),
    "/a)": ("Cannot parse", 3),
    "()": ("Cannot parse", 2),
    "/a(/b)": ("Cannot parse", 3),
    "/[a,b,c].+/[d,e]": ("Cannot parse", 9),
    "/[a,b].+/*": ("Cannot parse", 7),
    "(" * 300 + "/a" + ")" * 300: ("Cannot parse", 101),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    """Every form of the grammar means these ports, in this order."""
    assert SelectorMethods.expand(text) == FORMS[text]
    assert Selector(text).expanded == tuple(FORMS[text])
    assert len(Selector(text)) == sum(len(t) > 0 for t in FORMS[text])


@pytest.mark.parametrize("text", PRECEDENCE)
def test_comma_binds_least(text: str) -> None:
    """``,`` is below ``+`` and ``.+``, which are read from left to right."""
    assert SelectorMethods.expand(text) == PRECEDENCE[text]


@pytest.mark.parametrize("text", FAULTS)
def test_faults_show_their_place(text: str) -> None:
    """An error begins as it always did and has a caret under the fault."""
    beginning, place = FAULTS[text]
    with pytest.raises(ValueError) as caught:
        SelectorMethods.parse(text)
    message = str(caught.value)
    assert isinstance(caught.value, SelectorError) and isinstance(caught.value, NeurodriverError)
    assert message.startswith(f"{beginning} selector - ")
    assert f"at character {place}\n" in message
    shown, caret = message.splitlines()[-2:]
    column = caret.index("^")
    assert caret.strip() == "^"
    if place <= len(text):
        assert shown[column] == text[place - 1]
    else:
        assert column == len(shown)
    for call in (SelectorMethods.expand, Selector):
        with pytest.raises(ValueError, match=r"^invalid selector: Cannot"):
            call(text)
    assert not SelectorMethods.is_selector(text)


def test_reasons() -> None:
    """The error says what would be right."""
    reasons = {
        "foo": "a name begins with '/'",
        "/[a,0]": "integers or names, not both",
        "/a[0:4:2]": "without step",
        "/a[0": "not closed",
        "/a*": r"as '/\*'",
        "/a/": "has to follow the slash",
        "/[a,b].+[0:3]": r"equally many identifiers \(got 2 and 3\)",
        "/*.+/a": "can be listed",
    }
    for text, reason in reasons.items():
        with pytest.raises(SelectorError, match=reason):
            SelectorMethods.parse(text)


@pytest.mark.parametrize("text", ["/*", "/foo/*", "/foo[5:]", "/foo[:]", "/a,/b/*", "[3:]/x"])
def test_ambiguous_selectors_are_valid_but_cannot_be_expanded(text: str) -> None:
    """``*`` and open intervals select in an index; nothing can be listed from them alone."""
    assert SelectorMethods.is_selector(text) and SelectorMethods.is_ambiguous(text)
    for call in (SelectorMethods.expand, Selector, SelectorMethods.count_ports):
        with pytest.raises(SelectorError, match="invalid selector: '\\*' and '\\[n:\\]'"):
            call(text)


def test_parse_keeps_sets_and_intervals() -> None:
    """Parsing gives terms of tokens, lists, slices and '*'; it expands only under ``.+``."""
    parse = SelectorMethods.parse
    assert parse("/foo[0:3],/a[x,y]/*") == [["foo", slice(0, 3)], ["a", ["x", "y"], "*"]]
    assert parse("/foo[5:]/0[0]") == [["foo", slice(5, None), 0, [0]]]
    assert parse("(/a,/b[0:2])+/c") == [["a", "c"], ["b", slice(0, 2), "c"]]
    assert parse("/[a,b].+[0:2]") == [["a", 0], ["b", 1]]
    assert parse("") == [[]] and parse("  ") == [[]]
    assert parse("/a,/b/c", pad_len=float("inf")) == [["a", ""], ["b", "c"]]
    assert parse("/a", pad_len=3) == [["a", "", ""]]
    long = ",".join(f"/a[{i}]" for i in range(100))
    assert len(long) > SHORT and parse(long) == [["a", [i]] for i in range(100)]


def test_tokens() -> None:
    """Tokens carry kind, value and place."""
    found = [(t.type, t.value, t.lexpos) for t in tokenize("(/a,/*).+[0,2]+[b,c]/7[1:]")]
    assert found == [
        ("LPAREN", "(", 0), ("STRING", "a", 1), ("COMMA", ",", 3), ("ASTERISK", "*", 4),
        ("RPAREN", ")", 6), ("DOTPLUS", ".+", 7), ("INTEGER_SET", [0, 2], 9), ("PLUS", "+", 14),
        ("STRING_SET", ["b", "c"], 15), ("INTEGER", 7, 20), ("INTERVAL", slice(1, None), 22),
    ]  # fmt: skip
    assert SelectorMethods.tokenize("/a") == tokenize("/a")


def test_long_lists_are_read_the_short_way_with_the_same_result() -> None:
    """A long list of plain identifiers means what it means as a short one."""
    parts = [f"/a/{i}" if i % 3 else f"/b c[{i}]/x" for i in range(200)]
    text = ",".join(parts)
    blocks = parse_list(text)
    assert sum(map(len, blocks)) == 200
    single = [SelectorMethods.expand(part)[0] for part in parts]
    assert list(Selector(text).expanded) == single
    for broken in (
        text + ",",
        text + ",/a/",
        text + ",/0a",
        text + ",/a[0]5x",
        text.replace("/b", "b"),
    ):
        assert parse_list(broken) == ()
        with pytest.raises(SelectorError, match="Cannot"):
            parse_text(broken)
    for fine in (text + ",/a[0][1]", text + ",/a[0]5", text + ",/c[0:2]", text + ",/0/007"):
        head, tail = fine[: len(text)], fine[len(text) + 1 :]
        expected = list(Selector(head).expanded) + SelectorMethods.expand(tail)
        assert list(Selector(fine).expanded) == expected


def test_errors_of_long_texts_show_the_neighbourhood() -> None:
    """Of a long text only what is near the fault is shown, in printable characters."""
    text = ",".join(f"/a[{i}]" for i in range(100)) + ",/\x07b//" + ",/c" * 100
    with pytest.raises(SelectorError) as caught:
        SelectorMethods.parse(text)
    shown, caret = str(caught.value).splitlines()[-2:]
    assert len(shown) < 140 and shown.isprintable() and "..." in shown
    assert shown[caret.index("^")] == "/"
