"""Units of the integer weights of targets: a common measure, however many targets there are."""

from __future__ import annotations

import numpy as np
import pytest

from neurodriver.plan.spikes import weights
from neurodriver.plan.spikes.weights import ALIKE, Bounds, units_of

MEASURES = [0.1, 0.25, 3.0, 7e-3]
"""Of which the weights of a target are multiples, in turn; each fifth target has no measure."""


def given(targets: int) -> list[np.ndarray]:
    """Return the weights of each target, positive."""
    rng = np.random.default_rng(2)
    multiples = [np.array([2, 3, *rng.integers(2, 60, 6)]) for _ in range(targets)]
    return [
        rng.random(8) + 0.1 if t % 5 == 4 else MEASURES[t % 5] * some
        for t, some in enumerate(multiples)
    ]


@pytest.mark.parametrize("piece", [1, 5, 7, 1 << 14])
def test_a_common_measure_is_found(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets are looked at in pieces, of which the last one may be shorter."""
    monkeypatch.setattr(weights, "_PIECE", piece)
    rows = given(23)

    def remainders(unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rest, most = np.full(len(unit), np.inf), np.zeros(len(unit))
        for t in np.flatnonzero(~np.isnan(unit)):
            ratio = rows[t] / unit[t]
            apart = np.abs(ratio - np.rint(ratio))
            rest[t] = apart[apart > ALIKE * np.rint(ratio)].min(initial=np.inf)
            most[t] = np.rint(ratio).max()
        return rest, most

    columns = [np.array([each(row) for row in rows]) for each in (len, min, max, sum)]
    unit = units_of(Bounds(*columns), remainders, "float64").unit
    for t, row in enumerate(rows):
        if t % 5 == 4:
            assert np.log2(unit[t]) == np.rint(np.log2(unit[t])) and unit[t] < 1e-6
        else:
            assert unit[t] == pytest.approx(MEASURES[t % 5], rel=1e-12)
            assert np.allclose(row / unit[t], np.rint(row / unit[t]), rtol=0, atol=1e-9)
