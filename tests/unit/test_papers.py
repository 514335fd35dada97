"""What the examples of published networks draw and read, against the published numbers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support import example

from neurodriver import Circuit
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


def drawn(name: str, **network: object) -> tuple[Circuit, dict[str, range]]:
    """Return an example's circuit and populations."""
    circuit, _, populations = example(name).network(seed=3, **network)
    return circuit, populations


@pytest.mark.parametrize(
    ("name", "more", "probability", "weights"),
    [
        ("brunel_2000", {}, 0.1, (0.1, -0.5)),
        ("vogels_abbott_2005", {}, 0.05, (6.0, 67.0)),
        ("vogels_abbott_2005", {"currents": True}, 0.05, (16.2, -90.0)),
        ("brette_2007_hh", {}, 0.05, (6.0, 67.0)),
    ],
)
def test_each_pair_is_joined_once_with_its_probability(
    name: str, more: dict[str, bool], probability: float, weights: tuple[float, float]
) -> None:
    """Numbers within four standard deviations in all, from each population and in each corner."""
    neurons = 1600
    circuit, populations = drawn(name, neurons=neurons, **more)
    for links, sources, weight in zip(
        circuit.connections, populations.values(), weights, strict=True
    ):
        assert np.unique(links.data["weight"]).tolist() == [weight]
        assert links.source.min() >= sources.start and links.source.max() < sources.stop
        pairs = links.source.astype(np.int64) * neurons + links.target
        assert (np.diff(np.sort(pairs)) > 0).all()
        low = links.source < sources.start + len(sources) // 2
        left = links.target < neurons // 2
        for corner in (low & left, low & ~left, ~low & left, ~low & ~left):
            expected = len(sources) * neurons * probability / 4
            assert abs(corner.sum() - expected) < 4 * np.sqrt(expected)


def test_izhikevich_all_to_all_is_the_paper_s() -> None:
    circuit, _ = drawn("izhikevich_2003")
    weight = np.zeros((1000, 1000))
    for links in circuit.connections:
        weight[links.source, links.target] = links.data["weight"]
    assert circuit.edges == 1_000_000 and np.count_nonzero(weight) > 999_900
    assert weight[:800].min() >= 0 and weight[:800].max() <= 0.5
    assert weight[800:].min() >= -1 and weight[800:].max() <= 0
    assert weight[:800].mean() == pytest.approx(0.25, rel=0.01)
    assert weight[800:].mean() == pytest.approx(-0.5, rel=0.01)


def test_izhikevich_with_delays_has_the_same_input() -> None:
    """As much weight for each neuron as with all-to-all, and delays of all lengths."""
    circuit, populations = drawn("izhikevich_2003", neurons=5000)
    means = (1.0, -2.0)
    for links, members, mean in zip(circuit.connections, populations.values(), means, strict=True):
        assert np.bincount(links.source)[members.start :].tolist() == [100] * len(members)
        steps = np.rint(np.broadcast_to(links.delay, len(links)) * 1e3).astype(int)
        number = np.bincount(steps, minlength=21)
        assert number.size == 21 and number[0] == 0
        assert abs(number[1:] / len(links) - 0.05).max() < 0.004
        assert links.data["weight"].mean() == pytest.approx(mean, rel=0.02)


@pytest.fixture(scope="module")
def column() -> ModuleType:
    return example("potjans_diesmann_2014")


def test_microcircuit_at_full_scale_is_the_published_one(column: ModuleType) -> None:
    """77,169 neurons, 0.3 G synapses, the in-degrees that probabilities mean, no current."""
    at = column.scaled(1.0)
    assert at.sizes.sum() == 77_169
    assert at.synapses.sum() == pytest.approx(2.99e8, rel=0.005)
    joined = 1 - (1 - 1 / (20683 * 5834)) ** float(at.synapses[0, 1])
    assert joined == pytest.approx(0.1689, rel=1e-6)
    assert at.weight[0, 2] == 2 * 87.81 and at.weight[3, 5] == -4 * 87.81
    assert not at.current.any() and at.drive_rate[6] == 2900 * 8


@pytest.mark.parametrize("scale", [0.05, 0.1, 0.5])
def test_scale_keeps_mean_and_variance_of_the_input(column: ModuleType, scale: float) -> None:
    """Of the currents of Poisson inputs with the rates of the full scale (Campbell's theorem)."""

    def moments(at: object) -> tuple[np.ndarray, np.ndarray]:
        tau = 0.5e-3
        arrivals = at.synapses / at.sizes[:, None] * column.RATES  # type: ignore[attr-defined]
        mean = tau * ((at.weight * arrivals).sum(1) + at.drive_weight * at.drive_rate)  # type: ignore[attr-defined]
        square = (at.weight**2 * arrivals).sum(1) + at.drive_weight**2 * at.drive_rate  # type: ignore[attr-defined]
        return mean + at.current, tau / 2 * square  # type: ignore[attr-defined]

    full, small = moments(column.scaled(1.0)), moments(column.scaled(scale))
    np.testing.assert_allclose(small[0], full[0], rtol=0.01, atol=1.0)
    np.testing.assert_allclose(small[1], full[1], rtol=0.01)


def test_microcircuit_s_synapses(column: ModuleType) -> None:
    """Numbers, weights and delays of a pair of populations."""
    circuit, populations = drawn("potjans_diesmann_2014", scale=0.05)
    at = column.scaled(0.05)
    assert circuit.edges == at.synapses.sum()
    assert all(len(r) == n for r, n in zip(populations.values(), at.sizes, strict=True))
    source, target = populations["L4I"], populations["L4E"]
    (links,) = [c for c in circuit.connections
                if c.source[0] in source and c.target[0] in target]  # fmt: skip
    assert links.access == "exc" and len(links) == at.synapses[2, 3]
    for ends, members in ((links.source, source), (links.target, target)):
        assert ends.min() >= members.start and ends.max() < members.stop
        assert np.unique(ends).size > 0.99 * len(members)
    weight, late = links.data["weight"], np.asarray(links.delay)
    assert weight.max() < 0
    assert weight.mean() == pytest.approx(at.weight[2, 3], rel=0.01)
    assert weight.std() == pytest.approx(-0.1 * at.weight[2, 3], rel=0.05)
    assert late.min() >= 0.05e-3 and np.median(late) == pytest.approx(0.8e-3, rel=0.05)
    assert late.std() == pytest.approx(0.36e-3, rel=0.1)  # of 0.4, as the least are redrawn


def test_weights_on_a_grid_are_multiples_of_a_step(column: ModuleType) -> None:
    """And have mean and deviation of the others; their sums fit into 4 bytes on a GPU."""
    for grid, wide in ((0, 1), (column.GRID, 0)):
        whole = column.network(0.1, 1, grid)[0]
        plan = compile_circuit(whole, column.DT, "float32", target=CUDA).gathers[0, "exc"]
        assert plan.limits["wide"] == wide
    circuit, populations = drawn("potjans_diesmann_2014", scale=0.05, grid=column.GRID)
    at = column.scaled(0.05)
    step = at.drive_weight / column.GRID
    for links in circuit.connections:
        steps = links.data["weight"] / step
        assert np.abs(steps - np.rint(steps)).max() < 1e-9
    source, target = populations["L4I"], populations["L4E"]
    (links,) = [c for c in circuit.connections
                if c.source[0] in source and c.target[0] in target]  # fmt: skip
    weight = links.data["weight"]
    assert weight.mean() == pytest.approx(at.weight[2, 3], rel=0.01)
    assert weight.std() == pytest.approx(-0.1 * at.weight[2, 3], rel=0.05)


def test_a_synthetic_brain_has_the_published_quantiles() -> None:
    """Mean degree, synapses of an edge, their tails; no edge twice, none onto itself."""
    table = example("shiu_2024").synthetic(20_000, seed=2)
    pairs = table.source.astype(np.int64) * 20_000 + table.target
    assert (np.diff(np.sort(pairs)) > 0).all() and (table.source != table.target).all()
    for end in (table.source, table.target):
        degree = np.bincount(end, minlength=20_000)
        assert degree.mean() == pytest.approx(109.0, rel=0.06)
        assert 1_500 < degree.max() < 10_000 and np.median(degree) == pytest.approx(53, rel=0.1)
    synapses = np.abs(table.count)
    assert synapses.min() == 1 and synapses.max() > 500
    assert synapses.mean() == pytest.approx(3.6, rel=0.02)
    assert (synapses >= 5).mean() == pytest.approx(1 / 6, rel=0.02)
    for sign in (-1, 1):  # each neuron excites or inhibits
        assert (
            np.sign(table.count)[table.source == table.source[table.count == sign][0]] == sign
        ).all()


def test_a_synthetic_brain_is_the_same_under_any_numpy() -> None:
    """The peers' rates are those of these tables; seed 3 is one that NumPy 2.5 would change."""
    table = example("shiu_2024").synthetic(4_000, seed=3)
    assert (table.source.size, table.target.sum(dtype=int)) == (385_209, 760_899_069)
    assert table.count.sum(dtype=int) == 404_744


def test_a_brain_is_read_from_the_columns_of_the_published_table(tmp_path: Path) -> None:
    """Signed numbers of synapses become weights, other columns do not matter."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    shiu = example("shiu_2024")
    columns = {
        "Presynaptic_ID": [720575940600000000 + k for k in range(4)],
        "Presynaptic_Index": [0, 5, 2, 5],
        "Postsynaptic_Index": [5, 0, 3, 2],
        "Connectivity": [4, 7, 1, 30],
        "Excitatory": [1, -1, 1, -1],
        "Excitatory x Connectivity": [4, -7, 1, -30],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "table.parquet")
    circuit, _, populations = shiu.brain(shiu.read(tmp_path / "table.parquet"), np.array([2, 3]))
    assert circuit.groups[0].count == 6
    links = circuit.connections[0]
    found = zip(links.source, links.target, links.data["weight"], strict=True)
    assert {(s, t): w for s, t, w in found} == pytest.approx(
        {(0, 5): 1.1, (5, 0): -1.925, (2, 3): 0.275, (5, 2): -8.25}
    )
    assert float(links.delay) == 1.8e-3
    assert populations["others"].tolist() == [0, 1, 4, 5]
    assert circuit.groups[0].params["refractory_period"].tolist() == [2.2, 2.2, 0, 0, 2.2, 2.2]
    kicks = circuit.connections[1]
    assert kicks.target.tolist() == [2, 3] and float(kicks.data["weight"]) == 68.75


@pytest.mark.parametrize("kick", ["300", "-1", "5,400"])
def test_only_neurons_of_the_table_are_kicked(
    kick: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said with the numbers that there are, before anything runs."""
    shiu = example("shiu_2024")
    monkeypatch.setattr("sys.argv", ["shiu_2024.py", "--neurons", "300", f"--kick={kick}"])
    with pytest.raises(SystemExit):
        shiu.main()
    assert f"neurons are 0 to 299 (got {kick})" in capsys.readouterr().err
