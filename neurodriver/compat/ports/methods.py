"""Functions on selectors, gathered under the name that scripts use: ``SelectorMethods``."""

from __future__ import annotations

import copy as copying
import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...errors import SelectorError
from ...ports import grammar
from ...ports import selector as core
from ...ports.blocks import Any_, Level, TermBlock, expanded
from ...ports.identifiers import PortIndex
from ...ports.labels import is_sequence
from ...ports.tokens import Token, decode_all
from . import frames
from .selector import Selector, SelectorLike, blocks_of, parsed, rows_of
from .tuples import Tuples


def _fill(tuples: Sequence[Sequence[Any]], pad_len: float) -> list[tuple[Any, ...]]:
    longest = max(map(len, tuples), default=0)
    length = longest if pad_len == math.inf else int(pad_len)
    return [tuple(t) + ("",) * (length - len(t)) for t in tuples]


def expand(selector: SelectorLike, pad_len: float = 0) -> Tuples:
    """Return the identifiers of an unambiguous selector as tuples.

    Parameters
    ----------
    selector : SelectorLike
    pad_len : int or inf
        Fill shorter identifiers with '' to this length; ``inf``: to the longest.

    Returns
    -------
    list of tuple
        ``[()]`` for the empty selector.

    Raises
    ------
    SelectorError
        'invalid selector ...'.
    """
    return _fill(Selector(selector).expanded, pad_len)


def pad_selector(selector: SelectorLike, pad_len: float = math.inf) -> Tuples:
    """Return the same as `expand`, filled to the longest identifier by default."""
    return expand(selector, pad_len)


def pad_tuple_list(tuple_list: Sequence[Sequence[Any]], pad_len: int) -> Tuples:
    """Return the tuples filled with '' to a length."""
    return _fill(tuple_list, pad_len)


def pad_parsed(
    selector: list[list[Any]], pad_len: float = math.inf, inplace: bool = True
) -> list[list[Any]]:
    """Fill the terms of a parsed selector with ''; in place, or in a copy."""
    padded = selector if inplace else copying.deepcopy(selector)
    for term, filled in zip(padded, _fill(padded, pad_len), strict=True):
        term[:] = filled
    return padded


def parse(selector: str, pad_len: float = 0) -> list[list[Any]]:
    """Return the terms of a selector's text, unexpanded.

    Returns
    -------
    list of list
        Tokens, lists (sets), slices (intervals) and '*'; ``[[]]`` for a blank text.

    Raises
    ------
    SelectorError
        'Cannot tokenize ...' or 'Cannot parse ...' with the place of the fault.
    """
    terms = list(chain.from_iterable(map(_written, grammar.parse_exactly(selector))))
    return pad_parsed(terms or [[]], pad_len)


def _written(block: TermBlock) -> list[list[Any]]:
    """Return the terms of a block as lists of tokens, sets, slices and '*'."""
    columns = [_written_level(level, block.terms) for level in block.levels]
    return [list(term) for term in zip(*columns, strict=True)] if columns else [[]]


def _written_level(level: Level, terms: int) -> Sequence[Any]:
    if isinstance(level, np.ndarray):
        return decode_all(level)
    if isinstance(level, tuple):
        return [decode_all(np.array(level, np.int64)) for _ in range(terms)]
    one: Any = level
    if isinstance(level, int):
        (one,) = decode_all(np.array([level], np.int64))
    elif isinstance(level, range):
        one = slice(level.start, level.stop)
    elif isinstance(level, Any_):
        one = "*"
    return [one] * terms


def written_token(token: Token, brackets: bool = False) -> str:
    """Return a token as it stands in an identifier; padding leaves no trace."""
    if isinstance(token, str):
        return f"/{token}" if token else ""
    return f"[{token}]" if brackets else f"/{token}"


def is_selector_str(s: str) -> bool:
    """Return whether a text can be parsed."""
    try:
        grammar.parse_text(s)
    except SelectorError:
        return False
    return True


def is_selector_seq(s: Sequence[Any]) -> bool:
    """Return whether a sequence holds only sequences of valid tokens."""
    try:
        parsed(list(s))
    except SelectorError:
        return False
    return True


def is_selector(s: object) -> bool:
    """Return whether something is a valid selector."""
    if isinstance(s, core.Selector):
        return True
    if isinstance(s, str):
        return is_selector_str(s)
    return is_sequence(s) and is_selector_seq(s)


def is_selector_empty(selector: object) -> bool:
    """Return whether a text is blank, or a sequence holds nothing but empty sequences."""
    if isinstance(selector, core.Selector):
        return not len(selector)
    if isinstance(selector, str):
        return not selector.strip()
    return is_sequence(selector) and all(is_sequence(t) and not len(t) for t in selector)


def is_ambiguous(selector: SelectorLike) -> bool:
    """Return whether a selector holds '*' or an interval without end."""
    return any(b.ambiguous for b in blocks_of(selector))


def is_expandable(selector: SelectorLike) -> bool:
    """Return whether a text or sequence means more than one distinct identifier."""
    blocks = blocks_of(selector)
    if isinstance(selector, core.Selector) or any(b.ambiguous for b in blocks):
        return False
    ids = expanded(blocks)
    return len(ids) - len(PortIndex(ids).duplicates) > 1


def _is_token(token: object) -> bool:
    return isinstance(token, str | int | np.integer) and not isinstance(token, bool)


def is_identifier(s: object) -> bool:
    """Return whether something means one port: a token sequence, or a selector of one port."""
    if isinstance(s, core.Selector):
        return len(s) == 1
    if is_sequence(s) and len(s) and all(map(_is_token, s)):
        return True
    if not is_selector(s) or is_ambiguous(s):  # type: ignore[arg-type]
        return False
    return sum(map(len, blocks_of(s))) == 1  # type: ignore[arg-type]


def to_identifier(s: Sequence[Any]) -> str:
    """Return ``'/foo[0]'`` from tokens, or from a sequence that holds one token sequence.

    Raises
    ------
    SelectorError
        When it is not one identifier.
    """
    tokens = s[0] if is_sequence(s) and len(s) == 1 and is_sequence(s[0]) else s
    if not is_sequence(tokens) or not all(map(_is_token, tokens)):
        raise SelectorError(f"invalid selector: {s!r} is not one port identifier")
    return "".join(written_token(t, brackets=True) for t in tokens)


def tokens_to_str(tokens: Sequence[Any]) -> str:
    """Return ``'/foo/0'`` from tokens; sets and slices become ``[a,b]`` and ``[n:m]``.

    Raises
    ------
    SelectorError
        When there is something else among them.
    """
    out = []
    for token in tokens:
        if _is_token(token):
            out.append(written_token(token))
        elif isinstance(token, slice):
            ends = ["" if end is None else str(end) for end in (token.start, token.stop)]
            out.append(f"[{':'.join(ends)}]")
        elif isinstance(token, list | tuple) and token:
            out.append(f"[{','.join(map(str, token))}]")
        else:
            raise SelectorError(f"invalid selector: invalid token {token!r}")
    return "".join(out)


def collapse(selector: SelectorLike) -> str:
    """Return one text that means the same; a text is returned as it is."""
    if isinstance(selector, str):
        return selector
    if isinstance(selector, core.Selector):
        return selector.str
    if any(_is_mixed(token) for term in selector for token in term):
        return Selector(selector).str  # the text of a set holds integers or names
    return ",".join(map(tokens_to_str, selector))


def _is_mixed(token: object) -> bool:
    return isinstance(token, list) and len({isinstance(one, str) for one in token}) > 1


def are_disjoint(*selectors: SelectorLike) -> bool:
    """Return whether no port is in two of the selectors; the empty selector is disjoint to all."""
    if not selectors:
        raise SelectorError("invalid selector: at least one selector is needed")
    all_ids = [Selector(s).ids for s in selectors]
    seen = all_ids[0]
    for ids in all_ids[1:]:
        if (PortIndex(seen).find(ids) >= 0).any():
            return False
        seen = type(seen).joined([seen, ids])
    return True


def is_in(s: SelectorLike, t: SelectorLike) -> bool:
    """Return whether all ports of ``s`` are in ``t``; those of the empty selector always are."""
    return bool((PortIndex(Selector(t).ids).find(Selector(s).ids) >= 0).all())


def count_ports(selector: SelectorLike) -> int:
    """Return the number of ports of an unambiguous selector, repeats counted."""
    return len(Selector(selector))


def max_levels(selector: SelectorLike) -> int:
    """Return the number of levels of the longest term, expandable or not."""
    return max((len(b.levels) for b in blocks_of(selector)), default=0)


def are_consecutive(int_list: Sequence[int]) -> bool:
    """Return whether each integer is one more than the one before."""
    return len(int_list) > 1 and bool((np.diff(int_list) == 1).all())


class SelectorParser:
    """Text to tokens and terms."""

    tokenize = staticmethod(grammar.tokenize)
    parse = staticmethod(parse)
    pad_parsed = staticmethod(pad_parsed)


class SelectorMethods(SelectorParser):
    """What can be done with selectors; each is a function of this package."""

    expand = staticmethod(expand)
    collapse = staticmethod(collapse)
    is_identifier = staticmethod(is_identifier)
    to_identifier = staticmethod(to_identifier)
    tokens_to_str = staticmethod(tokens_to_str)
    is_ambiguous = staticmethod(is_ambiguous)
    is_selector = staticmethod(is_selector)
    is_selector_str = staticmethod(is_selector_str)
    is_selector_seq = staticmethod(is_selector_seq)
    is_selector_empty = staticmethod(is_selector_empty)
    is_expandable = staticmethod(is_expandable)
    are_disjoint = staticmethod(are_disjoint)
    are_consecutive = staticmethod(are_consecutive)
    is_in = staticmethod(is_in)
    count_ports = staticmethod(count_ports)
    max_levels = staticmethod(max_levels)
    pad_selector = staticmethod(pad_selector)
    pad_tuple_list = staticmethod(pad_tuple_list)
    rows_of = staticmethod(rows_of)
    get_tuples = staticmethod(frames.get_tuples)
    get_index = staticmethod(frames.get_index)
    index_to_selector = staticmethod(frames.index_to_selector)
    make_index = staticmethod(frames.make_index)
    make_index_two_concat = staticmethod(frames.make_index_two_concat)
    make_index_two_prod = staticmethod(frames.make_index_two_prod)
    select = staticmethod(frames.select)
