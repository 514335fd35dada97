"""Passes: a draft of a circuit in, another one out, one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import IAF, build, node, spiking_network

from neurodriver.plan import passes
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.passes.draft import Draft, Recorded

DT = 1e-4


def test_each_pass_adds_its_part() -> None:
    """Aggregators first, then slots for what is injected, then merged synapses."""
    circuit = spiking_network(12, 3, seed=3)
    names = circuit.groups[0].uids.tolist()
    draft = Draft(circuit, DT, [("I", names[:3])], Recorded())
    seen = [draft]
    for one in passes.PASSES:
        seen.append(one(seen[-1]))
    begin, listed, aggregated, pooled, expanded, injected, merged, published = seen
    assert pooled is aggregated and listed is begin  # there are no pools, no loops
    assert expanded is aggregated  # there is no order
    assert published is merged  # no state is recorded
    assert begin.circuit.count < aggregated.circuit.count == injected.circuit.count
    assert injected.slots.count == {"I": 3} and not aggregated.slots.count
    assert merged.merged is not None and merged.merged.groups
    assert merged.circuit.count > injected.circuit.count


def test_a_pass_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new pass is one function and its place in the list."""
    circuit = build({f"n{i}": node("LeakyIAF", IAF, resistance=9.0 + i) for i in range(3)})

    def stronger(draft: Draft) -> Draft:
        first, *rest = draft.circuit.groups
        params = {**first.params, "resistance": 2.0 * np.asarray(first.params["resistance"])}
        return replace(
            draft, circuit=draft.circuit.changed(groups=(replace(first, params=params), *rest))
        )

    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, stronger))
    program = compile_circuit(circuit, DT)
    (row,) = (r for r in program.arrays.values() if r.key.name == "resistance")
    assert np.asarray(row.value)[:3].tolist() == [18.0, 20.0, 22.0]
