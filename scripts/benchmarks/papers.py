"""The examples named after papers, as modules, and what their cases share."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples" / "papers"


@cache
def example(name: str) -> ModuleType:
    """Return an example of ``examples/papers``."""
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def brain(path: Path, neurons: int, kicked: int, seed: int) -> None:
    """Write the synthetic table of a brain for the peers."""
    shiu = example("shiu_2024")
    table = shiu.synthetic(neurons, seed=seed)
    columns = {"source": table.source, "target": table.target, "count": table.count}
    np.savez(path, **columns, neurons=neurons, kicked=shiu.some(table, kicked, seed))
