"""Light falls on the fly's lamina: its monopolar cells L1 to L5 hyperpolarise.

    python examples/03_lamina.py lamina.gexf.gz [-o out/lamina.h5] [--feedback MV]

The file is the lamina that came with Neurokernel until 2015, in the legacy form (an edge for each
synapse, volts): 768 cartridges, 9,566 neurons, 63,768 synapses. It is not part of this project; it
is examples/sensory_int/data/lamina.gexf.gz in the history of github.com/neurokernel/neurokernel.

What is done: all photoreceptors R1 to R6 (the neurons marked `extern`, Morris-Lecar here, without
phototransduction) get a constant current of 16 uA/cm^2 from 0.3 to 0.7 s, which is 0.016 in the
units of the file, the amplitude of the stimulus that came with it. Their histaminergic synapses
(reversal at -80 mV) are the file's own. The input ports C2 and C3, feedback from the medulla, stay
unconnected: such a port holds 0 mV, here as in the old library, so that their synapses saturate.
`--feedback -50` holds them at -50 mV, where they transmit nothing; then the amacrine cells escape
inhibition and L3 depolarises, while L1 and L2 answer as before.

Givon, L. E. and Lazar, A. A. Neurokernel: an open source platform for emulating the fruit fly
brain. PLoS ONE 11, e0146581 (2016). https://doi.org/10.1371/journal.pone.0146581
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd
from neurodriver.compat.legacy.inputs import extern

DT, SAMPLE = 1e-4, 10  # one row a millisecond
ON, OFF, CURRENT = 0.3, 0.7, 16.0
TYPES = ["L1", "L2", "L3", "L4", "L5"]
CARTRIDGE = 400  # row 12, column 16 of 24 x 32
STYLES: dict[str, dict] = {
    "L1": {"color": "tab:blue", "lw": 2.4},
    "L2": {"color": "tab:orange", "lw": 1.4, "ls": (0, (3, 1.5))},
    "L3": {"color": "tab:green", "lw": 1.4},
    "L4": {"color": "tab:red", "lw": 1.4},
    "L5": {"color": "tab:purple", "lw": 1.4},
    "all": {"color": "black", "lw": 1.6, "ls": ":"},
}


def cells(circuit: nd.Circuit) -> dict[str, np.ndarray]:
    """Return the uids of the cells behind the output ports, by type and cartridge."""
    ports = circuit.group("Port")
    (links,) = [c for c in circuit.connections if c.variable == "V" and not c.access]
    first = circuit.starts[[g.name for g in circuit.groups].index("Port")]
    source = dict(zip(ports.labels["selector"][links.target - first], links.source, strict=True))
    count = len([name for name in source if name.endswith("/L1")])
    names = {kind: [source[f"/lamina/cart{i}/{kind}"] for i in range(count)] for kind in TYPES}
    return {kind: circuit.uids[numbers] for kind, numbers in names.items()}


def receptors(circuit: nd.Circuit, cell: str) -> np.ndarray:
    """Return the photoreceptors with a synapse onto one cell."""
    (into,) = [c for c in circuit.connections if c.variable == "V" and c.access == "V"]
    (onto,) = [c for c in circuit.connections if c.variable == "g"]
    synapses = onto.source[onto.target == circuit.find([cell])[0]]
    found = circuit.uids[into.source[np.isin(into.target, synapses)]]
    return np.array([uid for uid in extern(circuit)[0] if uid in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/lamina.h5"))
    parser.add_argument("--duration", type=float, default=1.0)
    parser.add_argument("--feedback", type=float, metavar="MV", help="potential of C2 and C3")
    given = parser.parse_args()
    given.output.parent.mkdir(parents=True, exist_ok=True)

    # (1) the circuit is converted while it is read
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nd.errors.CircuitWarning)
        circuit = nd.Circuit.from_file(given.file)
    read = time.perf_counter() - begin
    monopolar = cells(circuit)
    seen = receptors(circuit, monopolar["L1"][CARTRIDGE])

    # (2) light on all photoreceptors; the medulla's feedback on demand
    inputs = [nd.StepInput("I", extern(circuit)[0], CURRENT, ON, OFF)]
    if given.feedback is not None:
        ports = circuit.group("Port")
        back = ports.uids[ports.labels["port_io"] == "in"]
        inputs.append(nd.StepInput("V", back, given.feedback))

    # (3) run and record
    uids = np.concatenate([*monopolar.values(), seen])
    recorder = nd.HDF5Recorder(given.output, [("V", uids)], SAMPLE, overwrite=True)
    begin = time.perf_counter()
    with nd.LPU(circuit, DT, inputs, [recorder]) as lpu:
        ready = time.perf_counter() - begin
        lpu.run(duration=given.duration)
        spent = time.perf_counter() - begin - ready
    print(f"{circuit}")
    print(f"read {read:.1f} s, compiled {ready:.1f} s, {lpu.time:g} s simulated in {spent:.1f} s")

    # (4) how each type answers
    with nd.Recording(given.output) as result:
        clock = np.asarray(result.time("V"))
        potential = {kind: np.asarray(result.data("V", names)) for kind, names in monopolar.items()}
        light = np.asarray(result.data("V", seen))
    print("cell   before (mV)   light on   light off   cells that hyperpolarise at light on")
    before, at_on, at_off = ((clock > a) & (clock < a + 0.03) for a in (ON - 0.03, ON, OFF))
    for kind, V in potential.items():
        rest = V[before].mean(axis=0)
        on, off = (V[span].mean(axis=0) - rest for span in (at_on, at_off))
        row = f"{kind}     {rest.mean():11.2f}   {on.mean():+8.2f}   {off.mean():+9.2f}"
        print(f"{row}   {np.count_nonzero(on < 0):>4} of {len(on)}")
    figure = given.output.with_suffix(".png")
    draw(clock, light, potential, circuit).savefig(figure, dpi=110)
    print(given.output, figure, sep="\n")


def draw(
    clock: np.ndarray, light: np.ndarray, potential: dict[str, np.ndarray], circuit: nd.Circuit
) -> plt.Figure:
    """Draw one cartridge through the whole run, and the mean of each type at light on and off."""
    figure = plt.figure(figsize=(9, 8.5), layout="constrained")
    grid = figure.add_gridspec(4, 2, height_ratios=[0.3, 0.8, 1.3, 1.3])
    shown = clock >= 0.1  # before, the potentials leave the file's initial values
    ms = clock[shown] * 1e3
    stimulus, receptor, cartridge = (figure.add_subplot(grid[i, :]) for i in range(3))
    zooms = [figure.add_subplot(grid[3, i]) for i in range(2)]
    current = np.where((clock >= ON) & (clock < OFF), CURRENT, 0.0)[shown]
    stimulus.fill_between(ms, current, color="gold", lw=0, step="post")
    stimulus.set_title("light: current into all photoreceptors (µA/cm²)", fontsize=10, loc="left")
    receptor.plot(ms, light[shown], color="0.35", lw=0.8)
    title = f"photoreceptors R1 to R6 with synapses onto cartridge {CARTRIDGE} (mV)"
    receptor.set_title(title, fontsize=10, loc="left")
    before = (clock > ON - 0.03) & (clock < ON)
    means = {}
    for kind, V in potential.items():
        cartridge.plot(ms, V[shown, CARTRIDGE], label=kind, **STYLES[kind])
        means[kind] = (V - V[before].mean(axis=0)).mean(axis=1)[shown]
    means["all"] = np.mean(list(means.values()), axis=0)
    cartridge.set_title(f"monopolar cells of cartridge {CARTRIDGE} (mV)", fontsize=10, loc="left")
    count = len(potential["L1"][0])
    for panel, start, word in zip(zooms, (ON, OFF), ("on", "off"), strict=True):
        for kind, change in means.items():
            panel.plot(ms, change, label=kind, **STYLES[kind])
        title = f"light {word}: mean change over {count} cartridges (mV)"
        panel.set_title(title, fontsize=10, loc="left")
        panel.set_xlim(start * 1e3 - 10, start * 1e3 + 120)
        panel.axhline(0, color="0.8", lw=0.8, zorder=0)
        panel.set_xlabel("time (ms)")
    zooms[1].legend(fontsize=9, frameon=False, loc="lower right", ncols=2)
    for panel in (stimulus, receptor, cartridge):
        panel.set_xlim(ms[0], ms[-1])
    for panel in (receptor, cartridge, *zooms):
        panel.axvspan(ON * 1e3, OFF * 1e3, color="gold", alpha=0.15, lw=0)
    for panel in figure.axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    synapses = f"{circuit.group('PowerGPotGPot').count:,} synapses"
    figure.suptitle(f"A step of light on the fly's lamina: {count} cartridges, {synapses}")
    return figure


if __name__ == "__main__":
    main()
