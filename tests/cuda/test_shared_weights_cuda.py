"""Weights that copies of a batch share on a GPU, until those of one copy are set."""

from __future__ import annotations

from sharing import check_one_memory


def test_one_memory_until_a_copy_is_set() -> None:
    check_one_memory(backend="cuda", dtype="float32")
