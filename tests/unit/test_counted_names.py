"""Component numbers of names that count: as a search among all names finds them."""

from __future__ import annotations

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit import counted_names, numbered
from neurodriver.circuit.counted_names import CountedNames
from neurodriver.circuit.cut import own_groups
from neurodriver.circuit.numbered import Numbered

UNKNOWN = [
    "a/7", "a/07", "a/00", "a/", "a", "", "/", "/0", "a/-1", "a/+1", "a/1 ", " a/1", "a/1a", "b/0",
    "a/0/0", "a/٣", "a/²", "a/" + "9" * 19, "a/18446744073709551616", "é/3", "e/0", "a/1/2",
]  # fmt: skip
"""Names of no component; the longest ones have no place in 64 bits."""


def circuit() -> nd.Circuit:
    sizes = {"a": 7, "é": 3, "deep/b": 120, "c": 1}
    return nd.Circuit([nd.Population("PoissonSource", n, name=one, rate=1.0)
                       for one, n in sizes.items()])  # fmt: skip


@pytest.mark.parametrize("chunk", [1, 5, 1 << 16])
def test_names_of_a_circuit(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_names, "CHUNK", chunk)
    made = circuit()
    names = CountedNames.of(made)
    assert names is not None and names.places is None and len(made.uids) == 131
    asked = np.random.default_rng(0).permutation([*made.uids.tolist(), *UNKNOWN])
    want = {uid: n for n, uid in enumerate(made.uids.tolist())}
    found = made.find(asked)
    assert found.tolist() == [want.get(uid, -1) for uid in asked.tolist()]
    assert made.find(asked.tolist()).tolist() == found.tolist()
    assert (found >= 0).sum() == 131 and (found < 0).sum() == len(UNKNOWN)
    assert made.find([]).shape == (0,)


@pytest.mark.parametrize("chunk", [1, 2, 5, 50, 1 << 16])
@pytest.mark.parametrize("short", [1, 100])
def test_names_in_order(chunk: int, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in order are found, also where one is replaced by another name or two are swapped."""
    monkeypatch.setattr(counted_names, "CHUNK", chunk)
    monkeypatch.setattr(numbered, "SHORT", short)
    made = circuit()
    names = made.uids.tolist()
    assert made.find(names).tolist() == list(range(131)) == made.find(made.uids.copy()).tolist()
    assert made.find(names[4:111]).tolist() == list(range(4, 111))
    for at, other in ((20, "deep/b/x"), (21, "a/0"), (22, "deep/b/0012")):
        asked = [*names[:at], other, *names[at + 1 :]]
        place = 0 if other == "a/0" else -1
        assert made.find(asked).tolist() == [*range(at), place, *range(at + 1, 131)]
    asked = [*names[:40], names[41], names[40], *names[42:]]
    assert made.find(asked).tolist() == [*range(40), 41, 40, *range(42, 131)]


@pytest.mark.parametrize(
    "first, end", [(0, 0), (0, 1), (8, 12), (3, 1208), (1199, 1216), (5, 5), (1203, 1216)]
)
@pytest.mark.parametrize("short", [1, 100])
def test_some_of_many_names(
    first: int, end: int, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbered, "SHORT", short)
    names = Numbered((("none", 0), ("a", 1203), ("Körner ∂", 12), ("empty", 0), ("one", 1)))
    made = names.between(first, end)
    assert made.tolist() == [*names.listed()][first:end] and names.shape == (1216,)
    assert made.dtype.kind == "U"
    assert Numbered(()).made().tolist() == []


def test_names_of_a_part() -> None:
    """Components of a part have the names that they have in the whole."""
    whole = circuit()
    of = np.random.default_rng(1).integers(0, 3, whole.count)
    for part in range(3):
        groups, _ = own_groups(whole, of, part)
        made = nd.Circuit.from_columns("part", groups, ())
        names = CountedNames.of(made)
        assert names is not None and names.places is not None
        found = made.find(whole.uids)
        assert np.array_equal(found >= 0, of == part) and (of == part).sum() > 20
        assert np.array_equal(found[of == part], np.arange(made.count))
        assert (made.find(UNKNOWN) == -1).all()


def test_names_that_do_not_count() -> None:
    named = nd.Population("PoissonSource", 2, name="n", uids=["x", "y"], rate=1.0)
    made = nd.Circuit([named, nd.Population("PoissonSource", 2, name="m", rate=1.0)])
    assert CountedNames.of(made) is None
    assert made.find(["y", "m/1", "x", "n/0"]).tolist() == [1, 3, 0, -1]


def test_names_of_a_group_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very array that a group has of its names is known; an equal one is looked up."""
    sources = {
        "a": nd.Population("PoissonSource", 5, rate=1.0),
        "b": nd.Population("SpikeSource", 4),
    }
    made = nd.Circuit(sources)
    own, equal = made.groups[1].uids, made.groups[1].uids.copy()
    with pytest.raises(ValueError, match="read-only"):
        own[0] = "c/0"
    assert made.find(equal).tolist() == [5, 6, 7, 8]
    monkeypatch.setattr(CountedNames, "find", None)
    assert made.find(own).tolist() == [5, 6, 7, 8]
    with pytest.raises(ValueError, match="read-only"):
        made.uids[0] = "c/0"
    with pytest.raises(TypeError):
        made.find(None)  # type: ignore[arg-type]
