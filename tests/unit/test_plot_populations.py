"""The figure of populations: what is drawn where, and its mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import NeurodriverError
from neurodriver.plot import populations as view
from neurodriver.results import activity

pytest.importorskip("matplotlib")

SPIKES = {"time": np.array([0.1, 0.9, 0.95, 1.0]), "index": np.array([0, 3, 1, 2])}
POPULATIONS = {"A": np.array([3, 1]), "B": range(2, 3)}


def test_rows_and_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spikes of the last half second in the rows of their population; one bar each."""
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: drawn.append(self))
    found = activity(**SPIKES, populations=POPULATIONS, stop=2.0)
    nd.plot_populations(SPIKES, found, POPULATIONS, tmp_path / "figure.png", "title")
    raster, course, rate, cv, synchrony = drawn[0].axes
    marks = [tuple(mark) for line in raster.lines for mark in line.get_xydata().tolist()]
    assert sorted(marks) == [(900.0, 1.0), (950.0, 0.0), (1000.0, 2.0)]
    assert [t.get_text() for t in raster.get_yticklabels()] == ["A", "B"]
    assert raster.get_title(loc="left") == "spikes of 3 neurons"
    a, b = (stairs.get_data() for stairs in course.patches)
    assert a.edges[-1] == 1000.0 and len(a.values) == 100
    assert (a.values.sum(), b.values.sum()) == (200.0, 200.0)  # 2 of 2 neurons, 1 of 1, in 5 ms
    assert [bar.get_width() for bar in rate.patches] == [0.5, 0.5]
    assert [a.get_title(loc="left") for a in (cv, synchrony)] == ["CV", "synchrony"]


def test_a_large_population_shows_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 900 and 100 neurons 45 and 20 rows, where 50 are to be shown and 20 at least."""
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: drawn.append(self))
    monkeypatch.setattr(view, "SHOWN", 50)
    spikes = {"time": np.full(1000, 0.5), "index": np.arange(1000)}
    both = {"large": range(900), "small": range(900, 1000)}
    nd.plot_populations(
        spikes, activity(**spikes, populations=both, stop=1.0), both, tmp_path / "f"
    )
    raster = drawn[0].axes[0]
    assert [len(line.get_xdata()) for line in raster.lines] == [45, 20]
    assert raster.get_title(loc="left") == "spikes of 65 of 1,000 neurons"


def test_without_a_file_the_figure_is_returned() -> None:
    """A notebook shows it; silence is drawn, too."""
    none = {"time": np.empty(0), "index": np.empty(0, int)}
    for spikes in (SPIKES, none):
        found = activity(**spikes, populations=POPULATIONS, stop=2.0)
        figure = nd.plot_populations(spikes, found, POPULATIONS)
        assert figure._repr_png_()[:4] == b"\x89PNG"


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    found = activity(**SPIKES, populations=POPULATIONS, stop=2.0)
    with pytest.raises(NeurodriverError, match="cannot be written"):
        nd.plot_populations(SPIKES, found, POPULATIONS, tmp_path / "figure.nonsense")
