"""Parts of a circuit draw their shares of projections: against the columns of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support import model

import neurodriver as nd
from neurodriver.circuit import drawn_share
from neurodriver.circuit.cut import bridges_of
from neurodriver.circuit.drawing import Rows
from neurodriver.circuit.drawn import Drawn
from neurodriver.circuit.drawn_share import DrawnShare, Numbering
from neurodriver.circuit.numbers_drawn import numbers_drawn
from neurodriver.circuit.partition import partition
from neurodriver.circuit.share import shares
from neurodriver.parallel.window import least_crossing
from neurodriver.plan.delays import steps_of

DT = 1e-4
COUNT = 400
NEURONS = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0, "refractory_period": 0.5, "initV": -55.0}  # fmt: skip
CELLS = np.stack(np.divmod(np.arange(150), 15), axis=1)
DELAYS = nd.Normal(1e-3, 5e-4, low=3e-4)
RULES = {
    "probability": (nd.FixedProbability(0.1), nd.Normal(1.0, 0.3), DELAYS),
    "probability alone": (nd.FixedProbability(0.1, autapses=False), 0.5, 2e-3),
    "in-degree": (nd.FixedInDegree(20), nd.Uniform(-1.0, 2.0), DELAYS),
    "in-degree alone": (nd.FixedInDegree(20, multapses=False), 0.5, 4e-4),
    "out-degree": (nd.FixedOutDegree(15), nd.LogNormal(0.0, 0.5), nd.Uniform(5e-4, 3e-3)),
    "total": (nd.FixedTotal(3000), nd.Exponential(0.5), DELAYS),
    "all": (nd.AllToAll(autapses=False), nd.Normal(0.0, 1.0), nd.Uniform(5e-4, 3e-3)),
    "one": (nd.OneToOne(), nd.Normal(0.0, 1.0), DELAYS),
    "lattice": (nd.Lattice([[0, 1], [1, 0], [2, 2]], [0.5, -1.5, 2.0], CELLS, CELLS), 0.3, DELAYS),
}


def circuit(*rules: str, same: bool = False) -> nd.Circuit:
    """Return neurons with projections from 100 .. 249 to 180 .. 329, one for each rule.

    If ``same``, all of them lead from the same neurons to the same ones.
    """
    made = []
    for number, name in enumerate(rules):
        rule, weight, delay = RULES[name]
        ends = (100, 250), (180, 330)
        if number and not same:
            ends = (0, 150), (200, 350)
        made.append(
            nd.Projection("spike_state", "spike_state", *ends, rule, weight, delay, f"{number}")
        )
    return nd.Circuit.from_arrays([(model("LeakyIAFDelta"), COUNT, NEURONS, None)], made, seed=4)


def of(parts: int) -> Any:
    """Return a random part of each neuron."""
    return np.random.default_rng(parts).integers(0, parts, COUNT)


@pytest.mark.parametrize("name", RULES)
def test_shares_are_those_of_the_whole(name: str) -> None:
    """Ends, weights and delays of each part, in the order of the whole; whatever the window."""
    whole, part = circuit(name), of(3)
    (links,) = whole.connections
    columns, found = links.expanded(), 0
    for share in shares(whole, part):
        (own,) = share.circuit.connections
        assert isinstance(own, DrawnShare)
        mine = np.flatnonzero(part[columns.target] == share.part)
        names = np.flatnonzero(part == share.part)
        names = np.concatenate([names, *(one.sources for one in share.incoming)])
        assert len(own) == len(mine)
        assert np.array_equal(names[own.source], columns.source[mine])
        assert np.array_equal(names[own.target], columns.target[mine])
        for mine_of, of_all in ((own.delay, columns.delay), *((own.data[k], columns.data[k])
                                                              for k in columns.data)):  # fmt: skip
            expected = of_all[mine] if of_all.ndim else of_all
            assert np.array_equal(mine_of, expected)
        some = own.rows(range(40, 80), threads=2)
        assert some.edges == np.count_nonzero((own.target >= 40) & (own.target < 80))
        target = np.empty(some.edges, np.int32)
        some.place(target)
        assert np.array_equal(target, own.target[(own.target >= 40) & (own.target < 80)])
        found += len(own)
    assert found == len(columns) > 100


@pytest.mark.parametrize("name", RULES)
def test_what_crosses(name: str) -> None:
    """Sources of other parts and the least delay between two parts, as columns have them."""
    whole, part = circuit(name), of(3)
    columns = whole.connections[0].expanded()
    a, b = part[columns.source], part[columns.target]
    for one in bridges_of(whole, part, ["0", "1", "2"]):
        across = (a == one.source) & (b == one.target)
        assert np.array_equal(one.sources, np.unique(columns.source[across]))
    steps = np.broadcast_to(steps_of(columns, DT), (len(columns),))
    assert least_crossing(whole, part, DT) == steps[a != b].min() > 1


def test_what_surely_crosses_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources with many connections are taken to have some into each part; bits do not change."""
    whole, part = circuit("all", "out-degree", "total", same=True), of(2)
    monkeypatch.setattr(drawn_share, "reaches", None)
    sent = {one.source: one.sources for one in bridges_of(whole, part, ["0", "1"])}
    own = np.arange(100, 250)
    assert all(np.array_equal(sent[n], own[part[own] == n]) for n in (0, 1))
    found = []
    for parts in (None, part):
        recorder = nd.MemoryRecorder([("V", None)])
        inputs = [nd.StepInput("I", whole.uids, np.linspace(5.0, 30.0, COUNT))]
        with nd.LPU(whole, DT, inputs, recorder, backend="cpu", parts=parts) as lpu:
            lpu.run(steps=200)
        found.append(recorder.get("V"))
    assert np.array_equal(*found)


def test_numbers_of_a_part() -> None:
    """Those of a range of components, as ranges; there may be none."""
    table = np.array([-1, 4, 0, 5, 1, -1, 2, 9], np.int32)
    numbering = Numbering(table)
    assert numbering.runs(range(1, 7)) == [(0, 3), (4, 6)] and numbering.span(range(8)) == range(10)
    assert numbering.runs(range(0, 1)) == [] and numbering.span(range(5, 6)) == range(0)
    assert numbering.digest_input(range(0, 1)) == Numbering(table.copy()).digest_input(range(5, 6))
    assert numbering.digest_input(range(0, 1)) != numbering.digest_input(range(1, 2))


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_a_part_draws_what_is_its_own(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection of another part is stored, and none is a column."""
    whole = circuit("probability", "in-degree", "total")
    placed: list[int] = []
    place = Rows.place

    def counted(rows: Rows, *given: Any, **more: Any) -> None:
        placed.append(rows.edges)
        place(rows, *given, **more)

    monkeypatch.setattr(Rows, "place", counted)
    monkeypatch.setattr(Drawn, "_as_columns", None)
    division = partition(whole, parts) if parts > 1 else 1
    with nd.LPU(whole, DT, parts=division, backend="cpu") as lpu:
        circuits = [one.share.circuit for one in lpu.simulation._parts]  # type: ignore[attr-defined]
        lpu.run(steps=20)
    least = [] if parts == 1 else placed[: len(placed) - 3 * parts]  # drawn to find the least delay
    own = [len(links) for one in circuits for links in one.connections]
    assert placed[len(least) :] == own and sum(own) == whole.edges
    assert sum(least) <= sum(own)


def delays(given: Sequence[tuple[int, Any]]) -> nd.Circuit:
    """Return 200 neurons that send to 200 others, by a projection for each number and delay."""
    links = [
        nd.Projection("spike_state", "spike_state", (0, 200), (200, 400), nd.FixedTotal(number),
                      1.0, delay, f"{n}")
        for n, (number, delay) in enumerate(given)
    ]  # fmt: skip
    return nd.Circuit.from_arrays([(model("LeakyIAFDelta"), COUNT, NEURONS, None)], links, seed=4)


LATE, SOON = (nd.Normal(mean, 2e-4, low=DT) for mean in (2e-3, 3e-4))
"""Delays of which none is as short as a step, and of which every twelfth one is."""


def test_what_surely_has_the_least_delay_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A projection that should have delays of one step tells it, and none is drawn."""
    monkeypatch.setattr(Rows, "place", None)
    whole = delays([(100, LATE), (200, LATE), (300, SOON), (3000, SOON), (4000, LATE)])
    assert least_crossing(whole, of(2), DT) == 1


def test_a_grid_of_delays_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rows, "place", None)
    soon = nd.Normal(3e-4, 2e-4, low=DT, multiple_of=DT)
    assert least_crossing(delays([(200, LATE), (3000, soon)]), of(2), DT) == 1


def test_pairs_of_one_part_do_not_cross() -> None:
    """The ends of a one-to-one rule are not independent: here all pairs are in the same part."""
    ends = (0, 200), (200, 400)
    given = [(nd.OneToOne(), nd.Uniform(1e-4, 3e-4)), (nd.FixedTotal(3000), 2e-3)]
    links = [
        nd.Projection("spike_state", "spike_state", *ends, rule, 1.0, delay, f"{n}")
        for n, (rule, delay) in enumerate(given)
    ]
    whole = nd.Circuit.from_arrays([(model("LeakyIAFDelta"), COUNT, NEURONS, None)], links, seed=4)
    part = np.tile(np.arange(200) % 2, 2)
    assert least_crossing(whole, part, DT) == 20


def test_what_stays_within_a_part_is_not_expected_to_cross() -> None:
    """Many delays of one step lead from a part to itself, and 40 of two steps to the other one."""
    ends = ((0, 100), (200, 300)), ((0, 100), (300, 400))
    given = [(nd.FixedTotal(3000), SOON), (nd.FixedTotal(40), 2e-4)]
    links = [
        nd.Projection("spike_state", "spike_state", *between, rule, 1.0, delay, f"{n}")
        for n, (between, (rule, delay)) in enumerate(zip(ends, given, strict=True))
    ]
    whole = nd.Circuit.from_arrays([(model("LeakyIAFDelta"), COUNT, NEURONS, None)], links, seed=4)
    assert least_crossing(whole, (np.arange(COUNT) >= 300).astype(np.int64), DT) == 2


@pytest.mark.parametrize("number", [60, 90])
def test_few_delays_are_drawn(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A projection that may have no delay of one step is drawn; others cannot be as early."""
    placed, place = [], Rows.place
    monkeypatch.setattr(Rows, "place", lambda rows, *given: placed.append(place(rows, *given)))
    whole, part = delays([(200, LATE), (number, SOON), (4000, LATE)]), of(2)
    columns = [one.expanded() for one in whole.connections]
    steps = [np.broadcast_to(steps_of(one, DT), (len(one),)) for one in columns]
    apart = [part[one.source] != part[one.target] for one in columns]
    expected = min(some[cross].min() for some, cross in zip(steps, apart, strict=True))
    placed.clear()
    assert least_crossing(whole, part, DT) == expected
    assert 1 <= len(placed) <= 2  # the small one, for each part


@pytest.mark.parametrize(
    "law",
    [
        nd.Normal(1.0, 2.0),
        nd.Normal(1.0, 2.0, 0.5, 2.5),
        nd.Normal(1.0, 2.0, 0.5, 2.5, outside="clip"),
        nd.Uniform(0.0, 2.0),
        nd.LogNormal(0.1, 0.5, 0.4, 3.0, factor=0.7),
        nd.Exponential(1.5, 0.3, 4.0, factor=0.5),
        nd.Normal(1.0, 0.5, multiple_of=0.25),
        nd.LogNormal(0.1, 0.5, 0.4, 3.0, factor=0.7, multiple_of=0.2),
    ],
)
def test_shares_below_a_number(law: Any) -> None:
    """They are those of drawn numbers, within the bounds."""
    drawn = numbers_drawn(law, 40_000, 1, "a", "b")
    for x in (-1.0, 0.3, 0.51, 1.0, 1.9, 2.6, 9.0):
        assert abs(law.drawn_below(x) - (drawn < x).mean()) < 0.012


@pytest.mark.parametrize(
    "names", [("probability", "in-degree"), ("total", "one", "in-degree alone")]
)
@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_between_the_same_populations(
    names: tuple[str, ...], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their targets do not ascend; they are drawn all the same, and act as columns do."""
    whole = circuit(*names, same=True)
    columns = whole.with_parts(whole.groups, [one.expanded() for one in whole.connections])
    inputs = [nd.StepInput("I", whole.uids, np.linspace(5.0, 30.0, COUNT))]
    found = []
    for one, parts in ((columns, None), (whole, None), (whole, 2)):
        recorder = nd.MemoryRecorder([("V", None)])
        if one is whole:
            monkeypatch.setattr(Drawn, "_as_columns", None)
        given: dict[str, Any] = {"threads": threads} if parts is None else {"parts": parts}
        with nd.LPU(one, DT, inputs, recorder, backend="cpu", **given) as lpu:
            lpu.run(steps=400)
        found.append(recorder.get("V"))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert (found[0][1:] == -60.0).sum() > 100
