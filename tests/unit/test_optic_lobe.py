"""The optic lobe: counts, lattices, edges, stimulus and tuning."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from neurodriver.circuits import optic_lobe
from neurodriver.circuits.example import data_folder
from neurodriver.circuits.motion import moving_edge, tuning
from neurodriver.circuits.optic_lobe import OpticLobe, expand, lattice

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "reference"

PHOTORECEPTORS = [f"R{number}" for number in range(1, 9)]

DT = 5e-3

WEIGHT_TOLERANCE = 1e-15
"""Relative; the products are taken in the same order, but not by the same code."""

PEAK_TOLERANCE = 1e-9
"""Float64 sums of thousands of inputs, in another order, over some hundred stable steps."""


@pytest.fixture(scope="module")
def small() -> OpticLobe:
    return expand(3)


@pytest.fixture(scope="module")
def published() -> OpticLobe:
    return expand(15)


def switching_steps(luminance: np.ndarray) -> np.ndarray:
    """Return the row in which each column of the light changes; each must change once."""
    changes = np.diff(luminance, axis=0) != 0
    assert np.all(changes.sum(axis=0) == 1)
    return changes.argmax(axis=0) + 1


@pytest.mark.parametrize(
    ("extent", "columns", "cells", "edges", "excitatory"),
    [
        (3, 37, 2_345, 63_209, 41_014),
        (15, 721, 45_669, 1_513_231, 983_980),
        (30, 2_791, 176_795, 6_022_853, 3_917_371),
    ],
)
def test_counts(extent: int, columns: int, cells: int, edges: int, excitatory: int) -> None:
    lobe = expand(extent)
    assert lobe.columns()[0].size == columns == 3 * extent * (extent + 1) + 1
    assert lobe.type_names.size == 65
    assert lobe.cell_count == cells
    assert lobe.edge_count == edges
    assert np.count_nonzero(~lobe.inhibitory) == excitatory
    assert np.all(lobe.weight[lobe.inhibitory] <= 0)
    assert np.all(lobe.weight[~lobe.inhibitory] >= 0)


@pytest.mark.parametrize("extent", [3, 15])
def test_counts_are_those_of_the_reference(extent: int) -> None:
    counts = json.loads((REFERENCE / f"optic_lobe_extent{extent}.json").read_text())["counts"]
    lobe = expand(extent)
    assert (counts["cells"], counts["edges"]) == (lobe.cell_count, lobe.edge_count)
    assert counts["inhibitory"] == np.count_nonzero(lobe.inhibitory)


def test_types_in_every_column_and_in_each_sixth(published: OpticLobe) -> None:
    for name in published.type_names:
        cells = published.cells_of(name)
        u, v = published.u[cells], published.v[cells]
        if name in ("Lawf1", "Lawf2"):
            assert cells.size == 123
            assert np.all(u % 3 == 0)
            assert np.all(v % 2 == 0)
        else:
            assert cells.size == 721
    assert published.cell_count == 63 * 721 + 2 * 123


def test_lattice_kinds() -> None:
    assert [place.tolist() for place in lattice(15, "single", 1, 1)] == [[0], [0]]
    for tile, stride in zip(lattice(7, "tile", 3, 1), lattice(7, "stride", 3, 3), strict=True):
        assert np.array_equal(tile, stride)
    places = set(zip(*(place.tolist() for place in lattice(4, "stride", 3, 2)), strict=True))
    expected = {(-3, 0), (-3, 2), (-3, 4), (0, -4), (0, -2), (0, 0), (0, 2), (0, 4)}
    assert places == expected | {(-u, -v) for u, v in expected}
    with pytest.raises(ValueError, match="'hexagon'"):
        lattice(3, "hexagon")
    with pytest.raises(ValueError, match="must not be negative"):
        lattice(-1)


def test_cells_are_ordered_by_type_then_column(published: OpticLobe) -> None:
    key = (published.cell_type.astype(np.int64) * 100 + published.u + 50) * 100 + published.v + 50
    assert np.all(np.diff(key) > 0)
    assert published.type_names[[0, 8, 64]].tolist() == ["R1", "L1", "TmY18"]


def test_edges_are_ordered_by_target_then_source(published: OpticLobe) -> None:
    key = published.target.astype(np.int64) * published.cell_count + published.source
    assert np.all(np.diff(key) > 0)
    assert published.source.dtype == published.target.dtype == np.int32
    assert published.weight.dtype == np.float64


def test_names_and_places_of_cells(small: OpticLobe) -> None:
    uids = small.uids
    assert np.unique(uids).size == small.cell_count
    assert uids[small.central("T4a")] == "T4a/0/0"
    index = uids.tolist().index("CT1(Lo1)/2/-3")
    assert small.type_names[small.cell_type[index]] == "CT1(Lo1)"
    assert (small.u[index], small.v[index]) == (2, -3)
    with pytest.raises(KeyError, match="no cell type 'T4e'"):
        small.cells_of("T4e")


def test_cells_are_selected_by_type_and_place() -> None:
    """Types are populations, and places are node columns."""
    circuit = optic_lobe.circuit(extent=2)
    assert circuit.select(type=["T4a", "T4b"], u=0, v=0).uids.tolist() == ["T4a/0/0", "T4b/0/0"]
    cells = circuit.populations["T4a"]
    assert cells.count == 19
    assert cells.select(u=2).uids.tolist() == ["T4a/2/-2", "T4a/2/-1", "T4a/2/0"]


def test_neighbouring_columns_are_at_distance_one() -> None:
    neighbours = np.array([(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)])
    x, y = OpticLobe.position(neighbours[:, 0], neighbours[:, 1])
    assert np.hypot(x, y) == pytest.approx(1.0)
    assert np.all(y[:2] < 0)


def test_parameters_are_per_type(small: OpticLobe) -> None:
    t4a = small.cells_of("T4a")
    assert np.all(small.time_constant[t4a] == pytest.approx(19.821710884571075))
    assert np.all((small.time_constant > 19) & (small.time_constant < 317))
    assert np.unique(small.bias).size <= 65
    assert small.type_names[small.is_input].tolist() == PHOTORECEPTORS
    assert np.count_nonzero(small.is_output) == 34
    assert small.input_cells.tolist() == list(range(8 * 37))


@pytest.mark.parametrize("extent", [1, 4])
def test_edges_equal_those_of_nested_loops(extent: int) -> None:
    def table(name: str) -> list[dict[str, str]]:
        with (data_folder("optic_lobe") / name).open(newline="") as file:
            return list(csv.DictReader(file))

    side = range(-extent, extent + 1)
    cells = {
        (row["type"], u, v)
        for row in table("types.csv")
        for u in side
        for v in side
        if abs(u + v) <= extent and u % int(row["a"]) == 0 and v % int(row["b"]) == 0
    }
    pairs = table("pairs.csv")
    expected = {}
    for row in table("filters.csv"):
        pair = pairs[int(row["pair"])]
        weight = int(pair["sign"]) * float(row["n_syn"]) * float(pair["strength"])
        for u in side:
            for v in side:
                source = (pair["source"], u, v)
                target = (pair["target"], u + int(row["du"]), v + int(row["dv"]))
                if source in cells and target in cells:
                    expected["{}/{}/{}".format(*source), "{}/{}/{}".format(*target)] = weight
    lobe = expand(extent)
    uids = lobe.uids
    assert set(uids.tolist()) == {"{}/{}/{}".format(*cell) for cell in cells}
    keys = list(zip(uids[lobe.source].tolist(), uids[lobe.target].tolist(), strict=True))
    assert set(keys) == expected.keys()
    weights = np.array([expected[key] for key in keys])
    np.testing.assert_allclose(lobe.weight, weights, rtol=WEIGHT_TOLERANCE)


@pytest.mark.parametrize("direction", range(0, 360, 30))
@pytest.mark.parametrize("contrast", ["on", "off"])
def test_edge_passes_every_column_once_in_order(
    small: OpticLobe, direction: float, contrast: str
) -> None:
    light, cells = moving_edge(small, direction, contrast, DT, settle=0.1)
    assert np.array_equal(cells, small.input_cells)
    assert np.all(light[:21] == 0.5)
    assert np.all(light[-101:] == (1.0 if contrast == "on" else 0.0))
    switch = switching_steps(light)
    x, y = small.position(small.u[cells], small.v[cells])
    along = x * np.cos(np.deg2rad(direction)) + y * np.sin(np.deg2rad(direction))
    order = np.argsort(along)
    assert np.all(np.diff(switch[order]) >= 0)
    assert np.unique(switch).size > 3
    # The edge has come this far at the start of the step in which a column switches.
    travelled = 19.0 * DT * (switch - 20)
    ahead = travelled - (along - along.min() + 1.0)
    assert np.all(ahead > -1e-6)
    assert np.all(ahead < 19.0 * DT)
    for name in PHOTORECEPTORS:
        assert np.array_equal(light[:, :37], light[:, np.searchsorted(cells, small.cells_of(name))])


@pytest.mark.parametrize("direction", [30, 210])
def test_columns_at_one_distance_switch_together(published: OpticLobe, direction: float) -> None:
    # Along 30 degrees the columns lie in rows half a column apart, which are five steps.
    light, cells = moving_edge(published, direction, "on", 1e-2, speed=10, settle=0.0)
    row = published.v[cells] - published.u[cells]
    row = row if direction == 30 else -row
    assert np.unique(row).size == 61
    assert np.array_equal(switching_steps(light), 10 + 5 * (row - row.min()))


def test_edge_options(small: OpticLobe) -> None:
    light, _ = moving_edge(
        small, 0, "off", 1e-2, speed=10, grey=0.25, settle=1.0, margin=2.0, tail=0.3
    )
    switch = switching_steps(light)
    assert light.max() == 0.25
    assert switch.min() == 100 + 20
    assert len(light) == switch.max() + 1 + 30
    with pytest.raises(ValueError, match="contrast"):
        moving_edge(small, 0, "grey", DT)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dt must be positive"):
        moving_edge(small, 0, "on", 0.0)


def test_tuning_of_known_peaks() -> None:
    directions = np.arange(0, 360, 30)
    angle = np.deg2rad(directions)
    one = np.where(directions == 60, 2.0, 0.0)
    cosine = 1.0 + 0.5 * np.cos(angle - np.deg2rad(275))
    preferred, dsi = tuning([one, cosine, np.ones(12), np.zeros(12)], directions)
    assert preferred[:2] == pytest.approx([60.0, 275.0])
    # For 1 + m cos(a), the vector sum is m n / 2 long, and the sum is n.
    assert dsi == pytest.approx([1.0, 0.25, 0.0, 0.0], abs=1e-12)
    assert np.isnan(preferred[3])
    assert tuning(cosine, directions, total=24.0)[1] == pytest.approx(0.125)


def peak_response(lobe: OpticLobe, direction: float, contrast: str, names: list[str]) -> np.ndarray:
    """Return the peak of max(V, 0) of the central cells after settling, by explicit Euler."""
    light, cells = moving_edge(lobe, direction, contrast, DT)
    gain = DT / np.maximum(1e-3 * lobe.time_constant, DT)
    central = [lobe.central(name) for name in names]
    potential = lobe.bias.copy()
    peak = np.zeros(len(names))
    for step, luminance in enumerate(light):
        rate = np.maximum(potential, 0.0)
        change = np.bincount(lobe.target, lobe.weight * rate[lobe.source], lobe.cell_count)
        change += lobe.bias - potential
        change[cells] += luminance
        if step >= round(2.0 / DT):
            peak = np.maximum(peak, potential[central])
        potential += gain * change
    return np.maximum(peak, potential[central])


@pytest.mark.parametrize("contrast", ["on", "off"])
def test_responses_equal_those_of_the_reference(small: OpticLobe, contrast: str) -> None:
    reference = json.loads((REFERENCE / "optic_lobe_extent3.json").read_text())
    names = list(reference["responses"])
    place = reference["stimulus"]["directions_deg"].index(60)
    expected = [reference["responses"][name][contrast]["peaks"][place] for name in names]
    assert max(expected) > 0.1
    peaks = peak_response(small, 60, contrast, names)
    np.testing.assert_allclose(peaks, expected, rtol=PEAK_TOLERANCE, atol=PEAK_TOLERANCE)


def test_tuning_equals_that_of_the_reference() -> None:
    reference = json.loads((REFERENCE / "optic_lobe_extent15.json").read_text())
    directions = reference["stimulus"]["directions_deg"]
    for name, response in reference["responses"].items():
        contrasts = ("on", "off")
        peaks = np.array([response[contrast]["peaks"] for contrast in contrasts])
        preferred, dsi = tuning(peaks, directions, total=peaks.sum(axis=1).max())
        for row, contrast in enumerate(contrasts):
            expected = response[contrast]
            assert dsi[row] == pytest.approx(expected["dsi"], abs=1e-12), name
            assert preferred[row] == pytest.approx(expected["preferred_direction_deg"]), name
