"""Small networks that learn from errors."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.error_driven import Network, Table, Trainer, UniformRandom

LAYERS = ("Input", "Hidden", "Output")
UNITS = np.eye(4)


def four_units(pattern: Any = None, inhibited: bool = False, rates: bool = False) -> Network:
    """Return the network of four units a layer that Axon tests itself with."""
    net, pattern = Network(), nd.OneToOne() if pattern is None else pattern
    inp = net.layer("Input", "input", 4, gi=0.9)
    hidden = net.layer("Hidden", "super", (2, 2))
    out = net.layer("Output", "target", 4)
    net.connect(inp, hidden, pattern)
    net.connect(hidden, out, pattern)
    net.connect(out, hidden, pattern, "back", rel=0.2)
    if inhibited:
        net.connect(inp, hidden, pattern, "inhib")
    net.set("layer", fb=0.5, gi=1.0, clears=1, rate_factor=False)
    net.set("path", var=0.0)
    net.set(".super", rate_factor=rates)
    return net


def shown(unit: int) -> dict[str, np.ndarray]:
    """Return a trial that shows a unit at both ends."""
    return {"Input": UNITS[unit % 4], "Output": UNITS[unit % 4]}


def patterns(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return patterns of 6 active units among 25, which differ in 4 places at least."""
    found: list[np.ndarray] = []
    while len(found) < count:
        one = np.zeros(25)
        one[rng.choice(25, 6, replace=False)] = 1
        if all(np.abs(one - other).sum() >= 4 for other in found):
            found.append(one)
    return np.array(found)


def associator(hidden: int, seed: int = 0) -> Network:
    """Return the random associator, with hidden layers of a size."""
    net = Network(seed=seed)
    inp = net.layer("Input", "input", (5, 5), gi=0.9, nominal=0.15, clamp=1.5)
    h1, h2 = (net.layer(name, "super", (hidden, 10)) for name in ("Hidden1", "Hidden2"))
    out = net.layer("Output", "target", (5, 5), gi=0.65, nominal=0.24, refractory=1)
    net.connect(inp, h1)
    net.connect_both(h1, h2)
    net.connect_both(h2, out)
    net.set("layer", gi=1.05, fb=0.5, nominal=0.06, mg=1.2, vgcc=0)
    net.set("path", lrate=0.06, synapse_threshold=0.1)
    net.set(".back", rel=0.3)
    return net


def several_kinds() -> Network:
    """Return a network with sub-pools, and with paths of several kinds, rules and delays."""
    net = Network(seed=2)
    inp = net.layer("Input", "input", (5, 5), nominal=0.24)
    hidden = net.layer("Hidden", "super", (2, 2, 4, 5), pool_inhibits=True, nominal=0.1)
    out = net.layer("Output", "target", (5, 5), gi=0.65, nominal=0.24)
    net.connect(inp, hidden)
    net.connect_both(hidden, out)
    net.connect(hidden, hidden, kind="lateral", hebb=True, sub_mean=1, rel=0.1, delay=3)
    net.connect(inp, hidden, UniformRandom(0.2), kind="inhib", abs=0.1)
    net.set("layer", gi=1.05, fb=0.5)
    net.set("path", lrate=0.06)
    net.set(".back", rel=0.3)
    return net


def side_by_side() -> Network:
    """Return a network with paths of several kinds, whose weights differ."""
    net = four_units(nd.AllToAll(), rates=True)
    net.set("path", var=0.25)
    net.set("#HiddenToOutput", sub_mean=1)
    net.set("#OutputToHidden", tau_trace=2)
    return net


ITEMS = Table(shuffled=False, Input=UNITS, Output=UNITS[[1, 2, 3, 0]])
PATHS = ("Input", "Hidden"), ("Hidden", "Output"), ("Output", "Hidden")


def trained(items: int | None, communicator: Any = None, **options: Any) -> tuple[Any, ...]:
    """Return what eight trials leave; those of four items are summed."""
    with Trainer(side_by_side(), items, communicator, slow_interval=8, **options) as sim:
        log = sim.train(ITEMS, epochs=2, trials=4)
        kept = [sim.path(*ends, name) for ends in PATHS for name in ("Wt", "SWt", "DSWt")]
        averages = sim.averages["Hidden"]
        kept += [averages.target, averages.activity, np.array([averages.mean, sim.trials])]
        return kept, log["trial"], sim.get("Hidden", "Vm"), sim.get("Hidden", "bins")


GAIN, MAINT, DRIVE, FULL = 6.0, 0.02, 0.3, 1.5
"""Strength of context, of maintenance, and of the driver of the network below."""


def predictor() -> Network:
    """Return a network of four units a layer that predicts its own input."""
    net = Network(seed=3)
    inp = net.layer("Input", "input", 4)
    hidden = net.layer("Hidden", "super", 4)
    ct = net.layer("CT", "ct", 4, gi=1.0, ctxt_gain=GAIN, maint=MAINT)
    pulvinar = net.layer(
        "Pulvinar", "pulvinar", 4, driver=inp, drive=DRIVE, full_drive=FULL, gi=0.8
    )
    net.connect(inp, hidden, nd.OneToOne())
    net.connect(hidden, ct, kind="context")
    net.connect(ct, ct, kind="context", rel=0.5, delay=4)
    net.connect(ct, ct, kind="maintenance", abs=0.5)
    net.connect_both(ct, pulvinar)
    net.connect(pulvinar, hidden, kind="back")
    net.set("layer", nominal=0.25)
    net.set(".context", tau_trace=2)
    return net


def opened(d: np.ndarray) -> np.ndarray:
    """Return how far NMDA channels are open."""
    return np.where(d >= 0, 0, -d / (1 + 1.4 / 3.57 * np.exp(-0.062 * d)))


def calcium(d: np.ndarray) -> np.ndarray:
    """Return the drive of calcium channels."""
    out: np.ndarray = -d / (1 - np.exp(0.0756 * d))
    return out


BURST, DIP, GAIN_D, ACH, CREDIT = 1.5, 0.5, 0.3, 0.4, 0.7
"""Factors of dopamine, its effect on conductances, share of acetylcholine, and credit below."""


def striatum(pools: bool = False) -> Network:
    """Return Go and NoGo layers with two actions of three units each, and a cue of three units.

    The units of an action are excited when it is taken. NoGo reads dopamine of its own. Its actions
    may be ``pools`` that inhibit.
    """
    net = Network(seed=4)
    cue = net.layer("Cue", "input", 3, nominal=0.7)
    action = net.layer("Action", "input", 2, nominal=0.5)
    go = net.layer("Go", "matrix", 6)
    shape = (1, 2, 1, 3) if pools else (6,)
    nogo = net.layer("NoGo", "matrix", shape, modulators={"dopamine": "other"}, d2=True)
    if pools:
        net.set("#NoGo", pool_inhibits=True)
    taken = np.repeat(np.eye(2, dtype=bool), 3, axis=1)
    for layer in (go, nogo):
        net.connect(cue, layer, kind="striatal", lrate=2.0, rel=0.3, credit=CREDIT)
        net.connect(action, layer, taken, learn=False)
    net.set(".matrix", burst_gain=BURST, dip_gain=DIP, da_gain=GAIN_D, ach_rate=ACH)
    return net


def assert_ranks_train_as_one(communicator: Any, **options: Any) -> None:
    """Four items of one process, and the same items divided between ranks, leave equal bits.

    The ranks have ``options``.
    """
    ranks, rank = communicator.Get_size(), communicator.Get_rank()
    each = 4 // ranks
    kept, rows, potentials, bins = trained(4)
    found = trained(each if each > 1 else None, communicator, **options)
    assert max(np.ptp(one) for one in kept) > 0 and np.ptp(potentials, axis=0).max() > 0.1
    assert all(map(np.array_equal, found[0], kept))
    assert all(np.array_equal(found[1][name], rows[name]) for name in rows)
    mine = slice(rank * each, (rank + 1) * each)
    for part, whole in ((found[2], potentials), (found[3], bins)):
        assert np.array_equal(part.reshape(each, *whole.shape[1:]), whole[mine])
