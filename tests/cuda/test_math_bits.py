"""Elementary functions give the same bits on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
from support import DT, assert_same_bits, simulate

from neurodriver import Circuit, NDComponent, Parameter

COUNT = 1 << 20
FUNCTIONS = {
    **{name: f"{name}(x)" for name in ("exp", "expm1", "tanh", "cosh", "sinh", "sin", "cos")},
    "log": "log(fabs(x))",
    "sqrt": "sqrt(fabs(x))",
    "log1p": "log1p(fmax(x, -0.999))",
    "pow": "pow(fabs(x), y)",
}


class Functions(NDComponent):
    """Each elementary function of the parameters."""

    updates = tuple(f"of_{name}" for name in FUNCTIONS)
    params = {"x": Parameter("1"), "y": Parameter("1")}
    states = dict.fromkeys(updates, 0.0)
    update = " ".join(f"of_{name} = {value};" for name, value in FUNCTIONS.items())


def arguments() -> dict[str, np.ndarray]:
    """Return numbers of every size that mathematics of neurons meets, and beyond."""
    rng = np.random.default_rng(5)
    part = COUNT // 4
    x = np.concatenate([
        rng.uniform(-3.0, 3.0, part),
        rng.uniform(-120.0, 120.0, part),
        rng.choice([-1.0, 1.0], part) * 10.0 ** rng.uniform(-30.0, 2.8, part),
        np.abs(rng.normal(1.0, 1e-3, part)),
    ])  # fmt: skip
    return {"x": x, "y": rng.uniform(-4.0, 4.0, COUNT)}


def test_same_bits(dtype: str) -> None:
    """A million arguments each, as a circuit meets them: what is nearly zero is zero to both."""
    circuit = Circuit.from_arrays([(Functions, COUNT, arguments(), None)])
    record = [(name, None) for name in Functions.updates]
    expected, got = (
        simulate(circuit, DT, 2, (), record, dtype=dtype, backend=one) for one in ("cpu", "cuda")
    )
    assert_same_bits(expected, got)
    for name in Functions.updates:
        (values,) = expected[name][1:]
        assert np.isfinite(values).sum() > COUNT // 2 and len(np.unique(values)) > COUNT // 4
