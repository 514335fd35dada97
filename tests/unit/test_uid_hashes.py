"""Keys of many uids are those of ``hashlib``, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from neurodriver.circuit import uid_hashes
from neurodriver.circuit.numbered import Numbered
from neurodriver.circuit.uid_hashes import hashes, hashes_of_column, hashes_of_numbered


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few uids be many."""
    monkeypatch.setattr(uid_hashes, "MANY", 1)
    assert uid_hashes._compiled() is not None


def test_names_that_count() -> None:
    """Of several populations, with names of other alphabets, and one too long for a block."""
    names = Numbered((("cells", 1203), ("Körner ∂", 12), ("x" * 104, 11), ("y" * 110, 101)))
    assert np.array_equal(hashes_of_numbered(names), hashes(names.listed()))


@pytest.mark.parametrize("longest", [1, 8, 127, 128, 129])
def test_columns(longest: int) -> None:
    """Of all lengths up to a block, and of more; letters of several bytes."""
    rng = np.random.default_rng(longest)
    letters = np.array([*"abc/ 09", "é", "∂"])
    uids = ["".join(rng.choice(letters, n)) for n in rng.integers(0, longest + 1, 300)]
    uids += ["a" * longest, "", "a" * (longest - 1)]
    assert np.array_equal(hashes_of_column(np.array(uids)), hashes(uids))


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 100, 65536, 65537, 131_073])
def test_one_text_of_all_names(count: int) -> None:
    """It is that of the names, whatever their lengths, one after the other."""
    names = Numbered((("cells", count), ("Körner ∂", 12), ("none", 0), ("one", 1)))
    assert b"".join(names.joined()) == "\0".join(names.listed()).encode()
