"""Units with the same text: one namespace for all of them, and a table for each."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from device_code import check_text
from pooled import CIRCUITS

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt import shared_texts
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


def parts_of_many() -> list[Part]:
    """Return the parts of more units than have texts of their own, with their integers."""
    units = generate(compile_circuit(CIRCUITS["one group"](), 1e-3, "float32", target=CUDA)).tasks
    assert units
    copies = range(shared_texts.FEW // len(units) + 1)
    return [
        Part(unit.kernel, integers=tuple(range(copy, copy + len(unit.kernel.integers))))
        for copy in copies
        for unit in units
    ]


def test_units_with_the_same_text_share_it() -> None:
    """All parts are in one text each, and the tables of a text follow each other."""
    parts = parts_of_many()
    texts = shared_texts.shared_texts(parts)
    assert sorted(n for text in texts for n in text.numbers) == [*range(len(parts))]
    assert len(texts) == len({part.kernel.text for part in parts}) < len(parts)
    places = shared_texts.table_places(parts)
    assert len({*places}) == len(parts)
    for text in texts:
        size = 8 * sum(shared_texts.table_sizes(text.part.kernel))
        assert [places[n] for n in text.numbers] == [
            (text.name, size * i) for i in range(len(text.numbers))
        ]


def test_equal_integers_are_in_the_text() -> None:
    """Those that differ between units are looked up."""
    (first, *_) = parts_of_many()
    size = len(first.kernel.integers)
    assert size > 1
    other = Part(first.kernel, integers=(first.integers[0], *range(90, 89 + size)))
    (text,) = shared_texts.shared_texts([first] * shared_texts.FEW + [other])
    assert text.part.integers == (first.integers[0], *[None] * (size - 1))


def test_few_units_have_texts_of_their_own() -> None:
    """They compile in seconds, and have all their integers in their texts."""
    parts = parts_of_many()[: shared_texts.FEW]
    assert [text.numbers for text in shared_texts.shared_texts(parts)] == [
        (n,) for n in range(len(parts))
    ]
    assert "#define ND_SHARED_TEXTS 0" in device_text(parts, "float32", Shape(128, stages=4))


@pytest.mark.needs("NVRTC")
@pytest.mark.parametrize("copies", [0, 3])
@pytest.mark.parametrize("holds", [False, True])
def test_the_text_compiles(copies: int, holds: bool) -> None:
    """With tables in constant memory, or of a copy in shared memory."""
    parts = parts_of_many()
    text = device_text(parts, "float32", Shape(128, 1, holds, stages=4, copies=copies))
    spaces = Counter(re.findall(r"^namespace (nd_part_\d+)", text, re.MULTILINE))
    assert len(spaces) == len(shared_texts.shared_texts(parts)) and {*spaces.values()} == {1}
    check_text(text, whole=holds)
