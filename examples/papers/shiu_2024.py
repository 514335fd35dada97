"""The whole brain of a fly: one leaky neuron for each of 138,639, one edge for each joined pair.

Kicks, each enough for a spike, reach some neurons at random times; what they make others do is
counted. Give the table of the connectome, ``Connectivity_783.parquet`` of the paper's data, and the
numbers of the neurons to kick: where the paper kicks the sugar-sensing neurons of one side, the
motor neuron MN9 fires at 67 Hz for kicks at 100 Hz, at 93 Hz for 200 Hz.

Without a table a *synthetic* one is drawn, with the size and the degrees of a brain and none of its
wiring: it shows speed, and nothing about flies.

Shiu, P. K. et al. A Drosophila computational brain model reveals sensorimotor processing.
Nature 634, 210-219 (2024). https://doi.org/10.1038/s41586-024-07763-9
Dorkenwald, S. et al. Neuronal wiring diagram of an adult brain.
Nature 634, 124-138 (2024). https://doi.org/10.1038/s41586-024-07558-y

    python examples/papers/shiu_2024.py [--table Connectivity_783.parquet --kick 3,14,15]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.results import activity, described

Network = tuple[nd.Circuit, list[nd.Input], dict[str, np.ndarray]]
"""Circuit, inputs, and the neurons of each population."""

DT = 1e-4
START = 0.0
"""Nothing has to settle, s."""

NEURONS, DEGREE = 138_639, 109.0
"""Of the published brain: neurons, mean number of edges out of and into one."""

DEGREE_SPREAD = 1.2
"""Standard deviation of a degree's logarithm: the largest of 138,639 is about 10,000."""

SYNAPSES = (-0.142, 1.58)
"""Mean and standard deviation of the logarithm that, rounded up, is the number of synapses of an
edge: 3.6 on average, 5 or more in one edge of six."""

INHIBITORY = 0.35
"""Share of the neurons that inhibit."""

WEIGHT, KICK, DELAY = 0.275, 250.0, 1.8e-3
"""mV of a synapse, synapses that a kick is worth, s."""

COLUMNS = ("Presynaptic_Index", "Postsynaptic_Index", "Excitatory x Connectivity")


@dataclass(frozen=True, slots=True)
class Table:
    """Edges of a brain.

    Attributes
    ----------
    source, target : (m,) int32
    count : (m,) int32
        Number of synapses, negative where the source inhibits.
    neurons : int
    """

    source: np.ndarray
    target: np.ndarray
    count: np.ndarray
    neurons: int


def read(path: Path) -> Table:
    """Return the edges of a published table."""
    source, target, count = COLUMNS
    made = nd.Circuit.from_tables(
        path, model="LeakyIAFShiu", source=source, target=target, weight=count,
        receptor="syn", index=True,
    )  # fmt: skip
    (links,) = made.connections
    synapses = np.asarray(links.data["weight"]).astype(np.int32)
    return Table(links.source, links.target, synapses, made.count)


def synthetic(neurons: int = NEURONS, degree: float = DEGREE, seed: int = 0) -> Table:
    """Return random edges: degrees out and in are log-normal and independent."""
    rng = np.random.default_rng(seed)
    # of the same stream, but frozen: Generator's multinomial draws other numbers since NumPy 2.5
    frozen = np.random.RandomState(rng.bit_generator)
    ends = []
    for _ in range(2):
        share = rng.lognormal(0.0, DEGREE_SPREAD, neurons)
        drawn = frozen.multinomial(round(neurons * degree), share / share.sum())
        ends.append(np.repeat(np.arange(neurons, dtype=np.int64), drawn))
    pair = np.sort(ends[0] * neurons + rng.permutation(ends[1]))
    pair = pair[np.append(True, np.diff(pair) > 0)]  # one that is drawn twice is one edge
    source, target = np.divmod(pair, neurons)
    apart = source != target
    source, target = source[apart].astype(np.int32), target[apart].astype(np.int32)
    synapses = np.ceil(rng.lognormal(*SYNAPSES, source.size)).astype(np.int32)
    sign = np.where(rng.random(neurons) < INHIBITORY, -1, 1).astype(np.int32)
    return Table(source, target, synapses * sign[source], neurons)


def quantiles(table: Table) -> str:
    """Return mean and quantiles of degrees and of synapses of an edge, as text."""
    ends = (table.source, table.target)
    degrees = [np.bincount(end, minlength=table.neurons) for end in ends]
    at = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
    lines = [f"{'':<20}{'mean':>8}" + "".join(f"{100 * q:>7g}%" for q in at)]
    columns = dict(zip(("edges out", "edges in"), degrees, strict=True))
    for name, column in (columns | {"synapses of an edge": np.abs(table.count)}).items():
        values = "".join(f"{v:>8.0f}" for v in np.quantile(column, at))
        lines.append(f"{name:<20}{column.mean():>8.2f}{values}")
    many, inhibit = (np.abs(table.count) >= 5).mean(), (table.count < 0).mean()
    lines.append(
        f"{100 * many:.1f} % of edges have 5 synapses or more; {100 * inhibit:.0f} % inhibit"
    )
    return "\n".join(lines)


def network(
    neurons: int = NEURONS, kicked: int = 150, rate: float = 100.0, seed: int = 0
) -> Network:
    """Return the circuit of a synthetic table of which some neurons are kicked."""
    table = synthetic(neurons, seed=seed)
    return brain(table, some(table, kicked, seed), rate)


def some(table: Table, count: int, seed: int = 0) -> np.ndarray:
    """Return random neurons that excite, ascending."""
    rng = np.random.default_rng(seed)
    exciting = np.unique(table.source[table.count > 0])
    return np.sort(rng.choice(exciting, min(count, exciting.size), replace=False))


def brain(table: Table, kicked: np.ndarray, rate: float = 100.0) -> Network:
    """Return the circuit of a table; the sources of kicks are part of it.

    Parameters
    ----------
    table : Table
    kicked : (n,) int
        Neurons that are kicked.
    rate : float
        Hz, of the kicks of each.
    """
    n = table.neurons
    rest = np.full(n, 2.2)
    rest[kicked] = 0.0  # each kick is a spike
    groups = [
        (shipped()["LeakyIAFShiu"], n, {"refractory_period": rest}, None),
        (shipped()["PoissonSource"], len(kicked), {"rate": rate}, None),
    ]
    late, weight = np.array(DELAY), WEIGHT * table.count
    sources = (n + np.arange(len(kicked))).astype(np.int32)
    data = {"weight": np.array(KICK * WEIGHT)}
    links = [
        nd.Connections("spike_state", "syn", table.source, table.target, late, {"weight": weight}),
        # late, too: a Poisson process is none the worse, and no connection is shorter than others
        nd.Connections("spike_state", "kick", sources, kicked.astype(np.int32), late, data),
    ]
    populations = {"kicked": kicked, "others": np.setdiff1d(np.arange(n), kicked)}
    return nd.Circuit.from_arrays(groups, links, name="fly brain"), [], populations


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", type=Path, help="Connectivity_783.parquet; default: synthetic")
    parser.add_argument("--neurons", type=int, default=NEURONS, help="of the synthetic table")
    parser.add_argument("--kick", help="numbers of neurons, with commas; default: 150 at random")
    parser.add_argument("--rate", type=float, default=100.0, help="of kicks, Hz")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    if arguments.table:
        table = read(arguments.table)
    else:
        table = synthetic(arguments.neurons, seed=arguments.seed)
        print("SYNTHETIC table, drawn at random: degrees of a brain, not its wiring")
    print(quantiles(table))
    if arguments.kick:
        kicked = np.unique([int(number) for number in arguments.kick.split(",")])
        if kicked[0] < 0 or kicked[-1] >= table.neurons:
            parser.error(f"--kick: neurons are 0 to {table.neurons - 1} (got {arguments.kick})")
    else:
        kicked = some(table, 150, arguments.seed)
    circuit, inputs, populations = brain(table, kicked, arguments.rate)
    print(circuit)
    neurons = circuit.groups[0].uids
    recorder = nd.MemoryRecorder([("spike_state", neurons)])
    with nd.LPU(circuit, DT, inputs, [recorder], seed=arguments.seed) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    rates = np.bincount(spikes["index"], minlength=table.neurons) / arguments.seconds
    rates[kicked] = 0.0
    for neuron in np.argsort(-rates, kind="stable")[:5]:
        print(f"neuron {neuron}: {rates[neuron]:.0f} Hz")
    if arguments.output:
        title = f"Shiu et al. 2024: {'a synthetic table' if not arguments.table else 'a fly brain'}"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
