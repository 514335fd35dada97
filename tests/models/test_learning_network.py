"""A recurrent network whose excitatory weights learn, against NEST: every spike, every weight."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from learning import learned
from support import model

import neurodriver as nd
from neurodriver import Connections

FILE = Path(__file__).parents[3] / "shared" / "data" / "plasticity" / "nest_network.npz"


class Noting(nd.PowerLawSTDP):
    """The rule in NEST's order, which notes in each synapse what a spike carries."""

    first = "spike"
    synapse = {"carried": nd.State("pA", 0.0)}
    on_arrival = re.sub(r"send\((.*?)\);", r"carried = \1; send(\1);", nd.PowerLawSTDP.on_arrival)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_that_learns_spikes_as_in_nest(threads: int) -> None:
    """Neuron by neuron and step by step; and all weights that the spikes carried."""
    if not FILE.exists():
        pytest.skip(f"{FILE} is not there")
    f = dict(np.load(FILE))
    meta = json.loads(str(f["meta"]))
    given, rule, dt = meta["neuron"], meta["parameters"], meta["dt_ms"] * 1e-3
    neurons, excitatory = len(f["V_0"]), meta["excitatory"]
    cells = {
        "resting_potential": given["E_L"], "threshold": given["V_th"],
        "reset_potential": given["V_reset"], "time_constant": given["tau_m"],
        "capacitance": given["C_m"], "refractory_period": given["t_ref"],
        "tau_exc": given["tau_syn_ex"], "tau_inh": given["tau_syn_in"], "initV": f["V_0"],
    }  # fmt: skip
    drive = [f"drive{i}" for i in range(neurons)]
    groups = [
        (model("LeakyIAFExpCurrent"), neurons, cells, None),
        (model("SpikeSource"), neurons, {}, drive),
    ]
    source, target = f["syn_pre"].astype(int), f["syn_post"].astype(int)
    plastic = (source < excitatory) & (target < excitatory)
    late, weight = f["syn_delay"] * dt, f["syn_weight"]
    noting = Noting(learning_rate=rule["lambda"], **{k: rule[k] for k in rule if k != "lambda"})
    links = []
    for access, mine in (("exc", ~plastic & (weight > 0)), ("inh", weight < 0)):
        ends, data = (source[mine], target[mine]), {"weight": weight[mine]}
        links.append(Connections("spike_state", access, *ends, late[mine], data))
    every = np.arange(neurons)
    kick = {"weight": np.asarray(meta["drive_weight"])}
    links.append(Connections("spike_state", "exc", every + neurons, every, np.asarray(dt), kick))
    data = {"weight": weight[plastic], "dendritic": late[plastic]}
    ends = source[plastic], target[plastic]
    links.append(
        Connections("spike_state", "exc", *ends, late[plastic], data, noting, name="learning")
    )
    events = np.zeros((meta["steps"], neurons))
    events[f["drive_step"] - 1, f["drive_index"]] = 1
    circuit = nd.Circuit.from_arrays(groups, links)
    feed, recorder = nd.ArrayInput({"spike_state": (drive, events)}), nd.MemoryRecorder(
        [("spike_state", circuit.uids[:neurons].tolist())]
    )  # fmt: skip
    carried = {}
    with nd.LPU(circuit, dt, [feed], [recorder], threads=threads) as lpu:
        for n in np.unique(f["out_step"]).tolist():
            lpu.run(steps=n + 1 - lpu.simulation.step)
            carried[n] = learned(lpu, "carried")
        lpu.run(steps=meta["steps"] + 1 - lpu.simulation.step)
        spikes = recorder.get("spike_state")
    rows = np.rint(spikes["time"] / dt).astype(int)
    mine = sorted(zip(rows.tolist(), spikes["index"].tolist(), strict=True))
    theirs = sorted(zip(f["spike_step"].tolist(), f["spike_index"].tolist(), strict=True))
    assert len(theirs) == 819
    assert mine == theirs
    number = np.cumsum(plastic) - 1
    noted = [carried[n][number[i]] for n, i in zip(f["out_step"], f["out_synapse"], strict=True)]
    scale = f["out_weight"].max()
    np.testing.assert_allclose(noted, f["out_weight"], rtol=0, atol=1e-11 * scale)
