"""The multi-area model: 32 areas of the macaque's visual cortex, at any scale.

At full size 4.13 million integrate-and-fire neurons in 254 populations have 24.1 G synapses. Each
area is a microcircuit of four layers under a square millimetre. Populations 23E, 5E and 6E send to
other areas, with delays that grow with the distance.

The numbers of the model have a licence of their own, so they are not part of this project. Give
the folder that holds them (``--data``). Without it the example makes a network of the same size
from the microcircuit of Potjans and Diesmann (2014) and random connections between areas. This
network shows what the size costs, and nothing about the macaque.

``--state ground``, the default, is asynchronous activity of 2.6 Hz. ``--state metastable`` has
stronger synapses between areas, and bursts that travel from area to area.

``--sizes`` and ``--indegrees`` scale the model down. Scale the sizes first. With in-degrees below
about 0.05 a silent state exists beside the ground state, and the network falls into it. Weights
grow by 1 / sqrt(indegrees), and a constant current makes up for the mean input that is lost (van
Albada et al. 2015). The metastable state needs ``--indegrees 1``. Areas that ``--areas`` leaves out
send their mean input as a constant current.

``--areas MDP --sizes 1 --indegrees 1 --seconds 4`` is an area at full size (124,313 neurons, 0.66 G
synapses). It fires at 0.319, 3.75, 10.08, 6.32, 1.11, 10.06, 0.092 and 8.56 Hz, from 23E to 6I. The
rates differ from the published ones by at most 3 %, in 6E by 7 %. With the default scale (sizes
0.01, in-degrees 0.1) one biological second of all 32 areas takes 1.2 s on two cores.

``NEURODRIVER_BACKEND=cuda`` and ``--sizes 1 --indegrees 1 --grid`` give the whole model, on a GPU
of 139 GiB, or with ``--devices 2`` on two of 78 GiB. With a grid of weights a synapse takes 4
bytes, else 8. Only a figure (``-o``) keeps spikes: 72 GB for 100 s of the metastable state.

Schmidt, M. et al. A multi-scale layer-resolved spiking network model of resting-state dynamics in
macaque visual cortical areas. PLoS Comput Biol 14, e1006359 (2018).
https://doi.org/10.1371/journal.pcbi.1006359
Schuecker, J. et al. Fundamental activity constraints lead to specific interpretations of the
connectome. PLoS Comput Biol 13, e1005179 (2017). https://doi.org/10.1371/journal.pcbi.1005179
van Albada, S. J., Helias, M. & Diesmann, M. Scalability of asynchronous networks is limited by
one-to-one mapping between effective connectivity and correlations. PLoS Comput Biol 11, e1004490
(2015). https://doi.org/10.1371/journal.pcbi.1004490

    python examples/papers/schmidt_2018.py --data FOLDER [--areas MDP] [-o out/schmidt_2018.png]
    mpiexec -n 2 python examples/papers/schmidt_2018.py --parts auto
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import potjans_diesmann_2014 as microcircuit
from numpy.typing import NDArray
from scipy.special import ndtr

import neurodriver as nd

Numbers = NDArray[np.float64]
Network = tuple[nd.Circuit, list[nd.Input], dict[str, range]]
"""Circuit, inputs, and the neurons of each population."""

DT = 1e-4
START = 0.5
"""When the start is forgotten, s."""

LAYERS = ("23E", "23I", "4E", "4I", "5E", "5I", "6E", "6I")
NEURON = {**microcircuit.NEURON, "initV": nd.Normal(-150.0, 50.0)}
WEIGHT, INHIBITION, SPREAD = 87.80849, -11.0, 0.1
"""pA (0.15 mV at the soma); inhibitory to excitatory; standard deviation to mean."""

GRID = 28
"""Steps of a weight of mean size where weights are multiples of a step: then target and weight of a
synapse take 4 bytes on a GPU. The step is a third of the standard deviation."""

DELAY, DELAY_SPREAD, SPEED = (1.5e-3, 0.75e-3), 0.5, 3.5e3
"""s, from excitatory and inhibitory neurons; standard deviation to mean; mm/s."""

BACKGROUND = 10.0
"""Hz, of each synapse from outside."""

STATES = {"ground": (1.0, 1.0), "metastable": (1.9, 2.0)}
"""Factors of weights between areas: of all, and again of those to inhibitory neurons."""


@dataclass(frozen=True)
class Anatomy:
    """Numbers of the model. Rows are targets, columns sources.

    Attributes
    ----------
    names : (n,) str
        Of the populations, area by area.
    area, layer : (n,) int
        Index of the area; index into `LAYERS`.
    size : (n,) int
    synapses : (n, n) int
    indegree : (n, n) float
        Synapses of a target neuron.
    outside : (n,) float
        Synapses of a neuron from outside.
    distance : (areas, areas) float
        mm.
    rates : mapping of str to (n,) float
        State -> rates at full scale, Hz; of `synthetic` those of mean-field theory.
    """

    names: NDArray[np.str_]
    area: NDArray[np.int16]
    layer: NDArray[np.int16]
    size: NDArray[np.int64]
    synapses: NDArray[np.int64]
    indegree: Numbers
    outside: Numbers
    distance: Numbers
    rates: dict[str, Numbers]

    def weights(self, state: str) -> Numbers:
        """Return the mean weight of each projection (n, n), pA."""
        chi, more = STATES[state]
        inhibits = self.layer % 2 == 1
        weight = np.where(inhibits, INHIBITION * WEIGHT, WEIGHT)[None, :].repeat(len(self.size), 0)
        inside = self.area[:, None] == self.area
        weight[inside & (self.layer[:, None] == 0) & (self.layer == 2)] *= 2.0  # 4E to 23E
        weight[~inside] *= chi
        weight[~inside & inhibits[:, None]] *= more
        return weight

    def delays(self) -> Numbers:
        """Return the mean delay of each projection (n, n), s."""
        inside = self.area[:, None] == self.area
        between = self.distance[np.ix_(self.area, self.area)] / SPEED
        return np.where(inside, np.array(DELAY)[self.layer % 2], between)


def read(folder: Path) -> Anatomy:
    """Return the numbers that ``network.npz`` and ``rates.npz`` of a folder hold.

    ``network.npz`` has the arrays of `Anatomy` as ``names``, ``area``, ``population`` (the layer),
    ``size``, ``synapses``, ``indegree``, ``indegree_external`` and ``distance``. ``rates.npz`` has
    ``ground_nest`` and ``metastable_nest``. See github.com/INM-6/multi-area-model.
    """
    missing = [name for name in ("network.npz", "rates.npz") if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{folder}: {' and '.join(missing)} not found; give the data's folder")
    with np.load(folder / "network.npz") as data, np.load(folder / "rates.npz") as rates:
        return Anatomy(
            data["names"],
            data["area"],
            data["population"],
            data["size"].astype(np.int64),
            data["synapses"].astype(np.int64),
            data["indegree"],
            data["indegree_external"],
            data["distance"],
            {state: rates[f"{state}_nest"] for state in STATES},
        )


def synthetic(areas: int = 32, seed: int = 0) -> Anatomy:
    """Return a network of about the size of the model, for users who have no data.

    Areas are scaled copies of the microcircuit. Two in three pairs of areas are joined.
    """
    rng = np.random.default_rng(seed)
    scale = 4.13e6 / (32 * microcircuit.SIZES.sum())
    size = np.rint(np.outer(rng.uniform(0.7, 1.3, areas) * scale, microcircuit.SIZES))
    area, layer = np.divmod(np.arange(8 * areas, dtype=np.int16), 8)
    itself = np.eye(areas, dtype=bool)
    inside = microcircuit.scaled(1.0).synapses / microcircuit.SIZES[:, None]
    degree = np.kron(itself, 1.2 * inside)
    joined = ((rng.random((areas, areas)) < 2 / 3) | np.roll(itself, 1, 1)) & ~itself
    share = joined * rng.lognormal(0.0, 1.0, (areas, areas))
    share *= 1_080 / np.maximum(share.sum(1, keepdims=True), 1e-9)  # synapses from other areas
    sends = np.array([0.5, 0, 0, 0, 0.2, 0, 0.3, 0])
    degree += np.kron(share, np.tile(sends, (8, 1)))
    places = rng.uniform(0.0, 35.0, (areas, 3))  # mm
    names = [f"A{a}-{LAYERS[p]}" for a, p in zip(area, layer, strict=True)]
    count = size.ravel().astype(np.int64)
    anatomy = Anatomy(
        np.array(names),
        area,
        layer,
        count,
        np.rint(degree * count[:, None]).astype(np.int64),
        degree,
        np.tile(microcircuit.OUTSIDE.astype(float), areas),
        np.maximum(np.linalg.norm(places[:, None] - places, axis=2), 1.0),
        {},
    )
    return replace(anatomy, rates=dict.fromkeys(STATES, mean_field(anatomy)))


def mean_field(anatomy: Anatomy, steps: int = 400) -> Numbers:
    """Return the rates (n,) of the ground state in Hz by mean-field theory.

    The rate of a neuron follows from mean and variance of its input (Schuecker et al. 2017). The
    rates are followed from silence to a fixed point. In the metastable state they keep changing.
    """
    tau = NEURON["time_constant"] * 1e-3
    to_mv = NEURON["tau_exc"] / NEURON["capacitance"]
    jump = anatomy.weights("ground") * to_mv
    given = anatomy.outside * BACKGROUND
    first, second = anatomy.indegree * jump, anatomy.indegree * jump**2
    rates = np.zeros(len(given))
    for _ in range(steps):
        mean = tau * (first @ rates + WEIGHT * to_mv * given)
        variance = tau * (second @ rates + (WEIGHT * to_mv) ** 2 * given)
        rates += 0.1 * (microcircuit.rate_of_neuron(mean, np.sqrt(variance)) - rates)
    return rates


@dataclass(frozen=True)
class Scaled:
    """The model at a scale, of some areas.

    Attributes
    ----------
    kept : (m,) int
        Populations of the areas.
    sizes, synapses : (m,), (m, m) int
    weight : (m, m) float
        Mean, pA.
    drive_rate, drive_weight : (m,) float, Hz; float, pA
    current : (m,) float
        pA: the mean input that the scale and areas left out take away.
    """

    kept: NDArray[np.intp]
    sizes: NDArray[np.int64]
    synapses: NDArray[np.int64]
    weight: Numbers
    drive_rate: Numbers
    drive_weight: float
    current: Numbers


def scaled(
    anatomy: Anatomy,
    sizes: float = 1.0,
    indegrees: float = 1.0,
    state: str = "ground",
    areas: Sequence[str] = (),
    seed: int = 0,
) -> Scaled:
    """Return the model at a scale; ``areas`` names those that are kept, all if there are none.

    Numbers of synapses are rounded at random, because rounding down would lose whole projections.
    """
    found = np.array([name.rsplit("-", 1)[0] for name in anatomy.names])
    wrong = [name for name in areas if name not in found]
    if wrong:
        raise SystemExit(f"no area {', '.join(wrong)}; there are {', '.join(dict.fromkeys(found))}")
    kept = np.flatnonzero(np.isin(found, areas)) if areas else np.arange(len(found))
    inside = np.ix_(kept, kept)
    root = np.sqrt(indegrees)
    rng = np.random.default_rng(seed)
    synapses = np.floor(sizes * indegrees * anatomy.synapses[inside] + rng.random((len(kept),) * 2))
    weight = anatomy.weights(state)
    arriving = anatomy.indegree * weight * anatomy.rates[state]
    whole = arriving[kept].sum(1)
    absent = whole - arriving[inside].sum(1)
    background = WEIGHT * anatomy.outside[kept] * BACKGROUND
    lost = (1.0 - root) * (whole + background) + root * absent
    return Scaled(
        kept,
        np.rint(sizes * anatomy.size[kept]).astype(np.int64),
        synapses.astype(np.int64) * (anatomy.synapses[inside] > 0),
        weight[inside] / root,
        indegrees * anatomy.outside[kept] * BACKGROUND,
        WEIGHT / root,
        lost * NEURON["tau_exc"] * 1e-3,
    )


def network(anatomy: Anatomy | None = None, seed: int = 0, grid: int = 0, **scale: Any) -> Network:
    """Return the circuit; its input is the current of `Scaled`.

    ``grid`` is the number of steps of a weight, 0: any weight. ``scale`` goes to `scaled`.
    """
    anatomy = anatomy or synthetic()
    at = scaled(anatomy, seed=seed, **scale)
    names = anatomy.names[at.kept].tolist()
    late = anatomy.delays()[np.ix_(at.kept, at.kept)]
    populations = {
        name: nd.Population(
            "LeakyIAFExpCurrentDriven",
            int(size),
            **NEURON,
            drive_rate=float(rate),
            drive_weight=at.drive_weight,
        )
        for name, size, rate in zip(names, at.sizes, at.drive_rate, strict=True)
    }
    links = [
        nd.Projection(
            names[source],
            names[target],
            nd.FixedTotal(int(at.synapses[target, source])),
            receptor="exc",  # currents of both signs have one time constant, so one sum
            weight=_weight(at.weight[target, source], at.drive_weight / grid if grid else 0.0),
            delay=nd.Normal(mean := late[target, source], mean * DELAY_SPREAD, DT, np.inf),
        )
        for target, source in np.argwhere(at.synapses).tolist()
    ]
    circuit = nd.Circuit(populations, links, name="multi-area model", seed=seed)
    ends = np.cumsum(at.sizes)
    spans = map(range, (ends - at.sizes).tolist(), ends.tolist())
    ranges = dict(zip(names, spans, strict=True))
    if not at.current.any():  # and uids of millions of neurons are not asked for
        return circuit, [], ranges
    return circuit, [nd.StepInput("I", circuit.uids, np.repeat(at.current, at.sizes))], ranges


def _weight(mean: float, step: float) -> nd.Normal:
    """Return the distribution of the weights of a projection; their sign does not change."""
    bounds = (0.0, np.inf) if mean > 0 else (-np.inf, 0.0)
    return nd.Normal(mean, abs(mean) * SPREAD, *bounds, multiple_of=step)


def memory(anatomy: Anatomy, at: Scaled, grid: bool, parts: int = 1) -> float:
    """Return the bytes of the connections on each GPU that delivers spikes when they are due.

    A synapse takes 4 bytes, or 8 with any weight. A neuron takes 24 bytes, and 4 for each step from
    its least delay to its greatest one, of which the expected values are taken. Each of several
    parts has its share of the synapses of all neurons.
    """
    steps = np.arange(1, 1_001)
    late, offsets = anatomy.delays()[np.ix_(at.kept, at.kept)], 7.0 * float(at.sizes.sum())
    for source, size in enumerate(at.sizes.tolist()):
        targets = np.flatnonzero(at.synapses[:, source])
        mean = late[targets, source][:, None]
        below = ndtr(((steps + 0.5) * DT - mean) / (mean * DELAY_SPREAD))
        least = ndtr((DT - mean) / (mean * DELAY_SPREAD))
        sent = at.synapses[targets, source] / (parts * max(size, 1))  # synapses of a neuron
        up_to = sent @ ((below - least) / (1.0 - least))
        later = np.exp(-up_to), 1.0 - np.exp(up_to - sent.sum())
        offsets += size * (later[1] - later[0]).sum()
    return 4.0 * (2 - grid) * float(at.synapses.sum()) / parts + 4.0 * offsets


def by_layer(anatomy: Anatomy, kept: NDArray[np.intp], rates: Numbers) -> dict[str, float]:
    """Return the mean rate over areas of each kind of population, Hz."""
    layer = anatomy.layer[kept]
    # an area has no layer 4
    return {LAYERS[i]: float(rates[layer == i].mean()) for i in np.unique(layer).tolist()}


def _above_0(given: str) -> float:
    if not 0 < float(given) < np.inf:
        raise argparse.ArgumentTypeError(f"a number above 0 is needed, got {given}")
    return float(given)


def _number(given: str) -> int | str:
    return given if given == "auto" else int(_above_0(given))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of network.npz and rates.npz")
    parser.add_argument("--state", choices=tuple(STATES), default="ground")
    parser.add_argument("--areas", nargs="*", default=[], help="names; all if none is given")
    parser.add_argument("--sizes", type=_above_0, default=0.01, help="scale of the populations")
    parser.add_argument("--indegrees", type=_above_0, default=0.1, help="scale of the in-degrees")
    parser.add_argument("--seconds", type=_above_0, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grid", action="store_true", help=f"weights of {GRID} steps: 4 bytes")
    parser.add_argument("--parts", type=_number, help="a number, or auto: one for each rank")
    parser.add_argument("--devices", type=int, help="number of GPUs of this process")
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    parser.add_argument("--rates", type=Path, help="write a CSV file: population, here, full (Hz)")
    arguments = parser.parse_args()
    if arguments.state == "metastable" and arguments.indegrees < 1.0:
        print("the metastable state has no form with smaller in-degrees: expect another activity")
    anatomy = read(arguments.data) if arguments.data else synthetic()
    scale = {key: getattr(arguments, key) for key in ("sizes", "indegrees", "state", "areas")}
    seed, grid = arguments.seed, GRID * arguments.grid
    circuit, inputs, populations = network(anatomy, seed, grid, **scale)
    counts, spikes = nd.CountRecorder("spike_state", start=START), nd.MemoryRecorder("spike_state")
    recorders = [counts, spikes] if (output := arguments.output) else [counts]
    given = {name: getattr(arguments, name) for name in ("seed", "parts", "devices")}
    rank, count = 0, arguments.devices or arguments.parts or 1
    if arguments.parts == "auto":
        from mpi4py.MPI import COMM_WORLD

        rank, count = COMM_WORLD.rank, COMM_WORLD.size
    if rank == 0:
        gib = memory(anatomy, scaled(anatomy, seed=seed, **scale), arguments.grid, count) / 2**30
        print(circuit, f"connections on a GPU that delivers when due: {gib:.2f} GiB", sep="\n")
    with nd.LPU(circuit, DT, inputs, recorders, dtype="float32", **given) as lpu:
        lpu.run(duration=START + max(arguments.seconds, DT), progress=True)
    if rank:
        return
    (each,) = counts.rates("spike_state")
    rates = np.array([each[one.start : one.stop].mean() for one in populations.values()])
    kept = np.flatnonzero(np.isin(anatomy.names, list(populations)))
    full = by_layer(anatomy, kept, there := anatomy.rates[arguments.state][kept])
    print(f"{'Hz':<6}{'here':>8}{'full size':>11}")
    for name, rate in by_layer(anatomy, kept, rates).items():
        print(f"{name:<6}{rate:>8.3f}{full[name]:>11.3f}")
    if arguments.rates:
        arguments.rates.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(arguments.rates, np.column_stack([list(populations), rates, there]), "%s", ",")
    if output:
        draw(anatomy, kept, rates, spikes.get("spike_state"), populations, lpu.time, output)
        print(output)


def draw(
    anatomy: Anatomy,
    kept: NDArray[np.intp],
    rates: Numbers,
    spikes: dict[str, NDArray[Any]],
    populations: dict[str, range],
    stop: float,
    output: Path,
) -> None:
    """Draw the rate of each population, and the course of the rate of each area."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    areas = list(dict.fromkeys(name.rsplit("-", 1)[0] for name in populations))
    row = {name: i for i, name in enumerate(areas)}
    table = np.full((len(areas), len(LAYERS)), np.nan)
    sizes, owner = np.zeros(len(areas)), []
    for name, rate, layer in zip(populations, rates, anatomy.layer[kept], strict=True):
        at = row[name.rsplit("-", 1)[0]]
        table[at, layer] = rate
        sizes[at] += len(populations[name])
        owner += [at] * len(populations[name])
    edges = np.arange(0.0, stop, 0.01), np.arange(len(areas) + 1) - 0.5
    area = np.array(owner)[spikes["index"]]
    course = np.histogram2d(spikes["time"], area, edges)[0].T / sizes[:, None] / 0.01
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 6), layout="constrained", sharey=True)
    image = left.imshow(table, aspect="auto", cmap="viridis")
    left.set(xticks=range(len(LAYERS)), xticklabels=LAYERS, yticks=range(len(areas)))
    left.set(yticklabels=areas, xlabel="population", title="rate (Hz)")
    figure.colorbar(image, ax=left)
    extent = (0.0, float(edges[0][-1]), len(areas) - 0.5, -0.5)
    image = right.imshow(course, aspect="auto", extent=extent, cmap="magma")
    right.set(xlabel="time (s)", title="rate of an area (Hz)")
    figure.colorbar(image, ax=right)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


if __name__ == "__main__":
    main()
