"""Graded synapses that learn: equal bits however they run, and what is read and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import with_crossings
from learned_rates import DT, Mixed, Rate, Rates
from support import assert_same_bits, recorded, started

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.circuit.partition import partition
from neurodriver.errors import CircuitError, ModelError

STEPS = 50
GIVEN = Rates.drawn(150, 900, STEPS, 3)
NAMES = "weight", "seen", "kept"


def state(lpu: Any) -> dict[str, Any]:
    return {f"{n} {s}": lpu[f"set {s}"].get(n) for n in NAMES for s in (0, 1)}


def run(dtype: str = "float64", **options: Any) -> dict[str, Any]:
    """Return V and all numbers of synapses."""
    circuit = GIVEN.circuit(Mixed(), Mixed(eta=0.02))
    with started(circuit, DT, GIVEN.input(), [("V", None)], dtype=dtype, **options) as lpu:
        lpu.run(steps=STEPS)
        return {"V": recorded(lpu, STEPS)["V"], **state(lpu)}


def test_threads_and_chunks_change_no_bit(dtype: str) -> None:
    """Targets are shared out in any way."""
    whole = run(dtype, threads=1, backend="cpu")
    for options in ({"threads": 2}, {"threads": 3, "chunk": 1}, {"threads": 2, "chunk": 7}):
        assert_same_bits(whole, run(dtype, backend="cpu", **options))


def test_in_parts(tmp_path: Path) -> None:
    """Weights are read, set, saved and restored as those of the whole."""
    circuit, found = GIVEN.circuit(nd.OjaRule(eta=0.01), nd.OjaRule(eta=0.02)), []
    options: dict[str, Any] = {"backend": "cpu"}
    for number, (before, after) in enumerate([(None, None), (2, 3), (3, None)]):
        path = tmp_path / f"{number}.h5"
        with nd.LPU(circuit, DT, [GIVEN.input()], parts=before, **options) as lpu:
            lpu.run(steps=20)
            lpu["set 0"].set("weight", 0.9 * lpu["set 0"].get("weight"))
            lpu.save(path)
        with nd.LPU(circuit, DT, [GIVEN.input()], parts=after, **options) as lpu:
            lpu.resume(path)
            lpu.run(steps=STEPS - 20)
            found.append({name: lpu[name].get() for name in ("set 0", "set 1")})
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])


def test_parts_whose_rules_read_more_than_connections_carry() -> None:
    """Both ends of such a connection are in one part; another division is refused."""
    circuit = GIVEN.circuit(Mixed(), nd.OjaRule())
    mine = circuit.connections[1]
    of = partition(circuit, 2)
    assert (of[mine.source] == of[mine.target]).all()
    apart = np.arange(circuit.count) % 2
    with pytest.raises(CircuitError, match="they belong together"):
        nd.LPU(circuit, DT, parts=apart, backend="cpu")
    with pytest.raises(CircuitError, match=r"'r'; its rule Mixed reads h of the source"):
        cut(circuit, apart, ["a", "b"])


def test_saved_read_and_recorded(tmp_path: Path) -> None:
    """A run that is read, recorded, saved and goes on has the bits of one that is not."""
    whole = run(backend="cpu", threads=2)
    path, circuit = tmp_path / "a.h5", GIVEN.circuit(Mixed(), Mixed(eta=0.02))
    some = nd.SynapseRecorder(None, "set 1", ["weight", "seen"], synapses=[3, 40], interval=2 * DT)
    with started(circuit, DT, GIVEN.input(), None, backend="cpu", threads=1) as lpu:
        lpu.run(steps=20, record=[some])
        lpu["set 0"].set("weight", lpu["set 0"].get("weight"))
        lpu.save(path)
        seen = lpu["set 1"].get("seen")[[3, 40]]
    assert some.recording.weight.shape == (10, 2)
    models = [Rate, Mixed]
    options: dict[str, Any] = {"models": models, "backend": "cpu", "threads": 3}
    with nd.LPU.restore(path, [GIVEN.input()], **options) as lpu:
        assert np.array_equal(lpu["set 1"].get("seen")[[3, 40]], seen)
        lpu.run(steps=STEPS - 20)
        assert_same_bits({k: whole[k] for k in state(lpu)}, state(lpu))


def test_while_nothing_is_learned_weights_are_those_of_a_plain_circuit() -> None:
    """And a set weight counts from that step on."""
    circuit, plain = GIVEN.circuit(Mixed(), Mixed()), GIVEN.circuit()
    static = started(circuit, DT, GIVEN.input(), [("V", None)], backend="cpu")
    with static as lpu:
        for s in (0, 1):
            lpu[f"set {s}"].learn(False)
        before = state(lpu)
        lpu.run(steps=10)
        after = state(lpu)
        assert all(np.array_equal(before[name], after[name]) for name in before)
        first = recorded(lpu, 10)["V"]
        lpu["set 0"].set("weight", 0.0)
        lpu["set 1"].set("weight", 0.0)
        lpu.run(steps=10)
        late = recorded(lpu, 20)["V"][11:]
        lpu["set 0"].learn()
        lpu.run(steps=1)
        assert lpu["set 0"].get().any() and not lpu["set 1"].get().any()
    with started(plain, DT, GIVEN.input(), [("V", None)], backend="cpu") as lpu:
        lpu.run(steps=20)
        assert np.array_equal(recorded(lpu, 20)["V"][11:], late)
    sums = np.zeros(150)
    np.add.at(sums, GIVEN.target, GIVEN.weight * GIVEN.told[0, GIVEN.source])
    np.testing.assert_allclose(first[1], sums, rtol=1e-12, atol=1e-12)


def test_parts_of_a_cut_circuit_have_the_bits_of_the_whole() -> None:
    """Sources of another LPU are ports, which have what the connections carry."""
    rates = Rates.drawn(40, 300, 30)
    rule = nd.OjaRule(eta=0.02)
    circuit = rates.circuit(rule, rule)
    part = np.arange(40) % 2
    parts = cut(circuit, part, ["a", "b"])
    crossed = with_crossings(circuit, part, DT)
    with nd.LPU(crossed, DT, [rates.input()], [], backend="cpu") as lpu:
        lpu.run(steps=30)
        whole, target = lpu["set 0"].get(), crossed.connections[1].target
    man = nd.Manager(timeout=60.0)
    for name, one in parts.circuits.items():
        mine = [uid for uid in rates.uids if one.find([uid])[0] >= 0]
        at = [rates.uids.index(uid) for uid in mine]
        table = np.vstack([rates.told[1:, at], np.zeros((1, len(at)))])
        man.add(nd.LPU, name, one, DT, [nd.ArrayInput({"told": (mine, table)})], [])
    for (source, to), pattern in parts.patterns().items():
        man.connect(source, to, pattern)
    man.spawn()
    man.start(steps=30)
    man.wait()
    assert np.ptp(whole) > 0.5
    for number, lpu in enumerate(man.lpus.values()):
        assert np.array_equal(lpu["set 0"].get(), whole[part[target] == number])


REFUSED: dict[str, tuple[type[nd.Plasticity], dict[str, Any], str]] = {
    "events": (nd.PairSTDP, {}, "takes no spikes, so nothing can be learned by PairSTDP; use a"),
    "dendritic": (nd.OjaRule, {"dendritic": DT}, "have no 'dendritic' part of the delay"),
    "unknown": (
        type("Bad", (nd.OjaRule,), {"on_step": "weight += pre.rr;"}),
        {},
        "Bad reads pre.rr, but Rate does not update 'rr'; it updates r, V, h",
    ),
    "both": (
        type("Both", (nd.OjaRule,), {"on_spike": "weight += 1;"}),
        {},
        "Both has 'on_spike'; values learn by 'on_step', texts",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_learn_is_refused(case: str) -> None:
    """With the connections, the reason and what to do."""
    rule, data, said = REFUSED[case]
    ends = np.zeros(1, np.int64), np.ones(1, np.int64), np.asarray(2 * DT)
    columns = {name: np.asarray(value) for name, value in {"weight": 1.0, **data}.items()}
    links = nd.Connections("r", "learned", *ends, columns, rule(), "set")
    with pytest.raises(CircuitError) as error:
        nd.Circuit.from_arrays([(Rate, 2, {}, None)], [links])
    assert said in str(error.value) and "'set'" in str(error.value)


def test_values_are_for_the_text_of_each_step() -> None:
    """Other texts run when they are due, and not in a step of the values."""
    with pytest.raises(ModelError, match=r"on_spike reads post.V, which only 'on_step' and 'on_"):
        type("Bad", (nd.PairSTDP,), {"on_spike": "weight += post.V;"})
    with pytest.raises(ModelError, match="'post_V' another name"):
        wrong = {"on_step": "weight += post.V;", "synapse": {"post_V": nd.State("1", 0.0)}}
        type("Bad", (nd.OjaRule,), wrong)
