"""Every plot draws into the axes that a user gives, and returns them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import NeurodriverError
from neurodriver.plot import plot_learning, plot_receptive_fields
from neurodriver.results import activity

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

LOG = {"epoch": {"error": np.array([1.0, 0.5, 0.25]), "correlation": np.array([0.2, 0.6, 0.9])}}
WEIGHTS = np.arange(24.0).reshape(4, 6)
POPULATIONS = {"E": np.arange(40), "I": np.arange(40, 50)}
rng = np.random.default_rng(0)
SPIKES = {"time": np.sort(rng.uniform(0, 1, 500)), "index": rng.integers(0, 50, 500)}
FOUND = activity(**SPIKES, populations=POPULATIONS, stop=1.0)


@pytest.fixture(scope="module")
def recording() -> Any:
    """Potentials and spikes of four neurons, 200 ms."""
    cells = nd.Population("LeakyIAFShiu", 4, name="cells")
    circuit = nd.Circuit([cells]).stimulate(cells, rate=200.0)
    with nd.LPU(circuit, 1e-4, seed=1) as lpu:
        found = lpu.run(duration=0.2, record=["V", "spike_state"]).recording
    assert len(found.spikes) > 10
    return found


def axes(count: int) -> list[Any]:
    return list(Figure().subplots(1, count, squeeze=False)[0])


def plots(recording: Any) -> dict[str, tuple[int, Any]]:
    """Name of a plot -> its number of panels, and a function that takes ``ax`` and a path."""
    learning = ["error", "correlation"]
    return {
        "recording": (2, lambda ax, path: nd.plot_recording(recording, path, ax=ax)),
        "method": (2, lambda ax, path: recording.plot(path, ax=ax)),
        "populations": (
            5,
            lambda ax, path: nd.plot_populations(SPIKES, FOUND, POPULATIONS, path, ax=ax),
        ),
        "learning": (2, lambda ax, path: plot_learning(LOG, path, learning, ax=ax)),
        "fields": (1, lambda ax, path: plot_receptive_fields(WEIGHTS, (2, 3), path, ax=ax)),
    }


NAMES = list(plots(None))


@pytest.mark.parametrize("name", NAMES)
def test_given_axes_are_filled_and_returned(recording: Any, name: str) -> None:
    count, plot = plots(recording)[name]
    given = axes(count)
    assert plot(given, None) is given
    assert all(axis.lines or axis.images or axis.patches for axis in given)


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_written_also_with_axes(recording: Any, name: str, tmp_path: Path) -> None:
    count, plot = plots(recording)[name]
    given = axes(count)
    assert plot(given, tmp_path / "given.png") is given
    assert plot(None, tmp_path / "own.png") == tmp_path / "own.png"
    for picture in ("given.png", "own.png"):
        assert (tmp_path / picture).read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_the_figure(recording: Any, name: str) -> None:
    _, plot = plots(recording)[name]
    assert plot(None, None)._repr_png_()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", NAMES)
def test_another_number_of_axes_is_told(recording: Any, name: str) -> None:
    count, plot = plots(recording)[name]
    with pytest.raises(NeurodriverError, match=rf"{count} axes are needed .*, got {count + 1}"):
        plot(axes(count + 1), None)
    with pytest.raises(NeurodriverError, match="ax needs axes of matplotlib, got Figure"):
        plot(Figure(), None)
    with pytest.raises(NeurodriverError, match="got str 'V'"):
        plot("V", None)


def test_each_given_axes_says_its_unit(recording: Any) -> None:
    """Nobody knows where they lie, so none leaves the time to another."""
    given = Figure().subplots(1, 2)
    assert recording.plot(ax=given) is given
    assert [axis.get_xlabel() for axis in given] == ["time (ms)", "time (ms)"]
    assert given[0].get_ylabel() == "V (mV)"


def test_one_axes_shows_one_variable(recording: Any) -> None:
    (axis,) = axes(1)
    assert nd.plot_recording(recording, variables=["V"], ax=axis) is axis
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), recording["V"][:, 0])


def test_one_axes_shows_the_raster_of_populations() -> None:
    (axis,) = axes(1)
    assert nd.plot_populations(SPIKES, FOUND, POPULATIONS, ax=axis) is axis
    assert axis.get_title(loc="left") == "spikes of 50 neurons"
    assert axis.get_xlabel() == "time (ms)"


def test_learning_curves_have_one_line_for_each_training() -> None:
    given = axes(2)
    plot_learning([LOG, LOG], columns=["error", "correlation"], ax=given)
    assert [len(axis.lines) for axis in given] == [3, 3]  # the mean is the third
    np.testing.assert_array_equal(given[1].lines[2].get_ydata(), LOG["epoch"]["correlation"])
