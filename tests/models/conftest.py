"""A program outside of the repository that models are compared with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data" / "layers"


@pytest.fixture(scope="module")
def reference() -> Iterator[ModuleType]:
    """The program that defines the layers."""
    if not DATA.exists():
        pytest.skip("the reference of layers is not beside the repository")
    sys.path.insert(0, str(DATA))
    try:
        import hmax_reference

        yield hmax_reference
    finally:
        sys.path.remove(str(DATA))
