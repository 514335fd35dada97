"""Two LPUs that exchange spikes, in one process or on two ranks of MPI.

    python examples/15_two_lpus.py
    mpiexec -n 2 python examples/15_two_lpus.py

With the second command each LPU runs on a rank of its own. The recordings are the same, bit by bit.
"""

import matplotlib.pyplot as plt
import networkx as nx

import neurodriver as nd

COUNT, DT, STEPS = 20, 1e-4, 3000

# %%
# The first LPU has neurons that fire at random. Each has an output port. A port is a node, and its
# selector is the name by which other LPUs know it.
sender = nx.MultiDiGraph()
for i in range(COUNT):
    sender.add_node(f"source{i}", **{"class": "PoissonSource", "rate": 10.0 + 5.0 * i})
    sender.add_node(f"out{i}", **{"class": "Port", "port_type": "spike", "port_io": "out",
                                  "selector": f"/sender/{i}"})  # fmt: skip
    sender.add_edge(f"source{i}", f"out{i}")

# %%
# The second LPU has a neuron for each input port. What arrives at a port enters its synapse.
receiver = nx.MultiDiGraph()
for i in range(COUNT):
    receiver.add_node(f"in{i}", **{"class": "Port", "port_type": "spike", "port_io": "in",
                                   "selector": f"/receiver/{i}"})  # fmt: skip
    receiver.add_node(f"cell{i}", **{"class": "LeakyIAFExpCurrent", "resting_potential": -65.0,
                                     "threshold": -50.0, "reset_potential": -65.0,
                                     "time_constant": 20.0, "capacitance": 200.0, "tau_exc": 5.0,
                                     "tau_inh": 5.0})  # fmt: skip
    receiver.add_edge(f"in{i}", f"cell{i}", receptor="exc", weight=600.0)  # pA

# %%
# A pattern joins the ports. The manager places the LPUs on ranks and exchanges the spikes.
spikes = nd.HDF5Recorder("out/sender.h5", [("spike_state", None)], overwrite=True)
potentials = nd.HDF5Recorder(
    "out/receiver.h5", [("V", None), ("spike_state", None)], overwrite=True
)
manager = nd.Manager()
manager.add(nd.LPU, "sender", sender, DT, [], [spikes])
manager.add(nd.LPU, "receiver", receiver, DT, [], [potentials])
pattern = nd.Pattern(f"/sender/[0:{COUNT}]", f"/receiver/[0:{COUNT}]")
for i in range(COUNT):
    pattern[f"/sender/{i}", f"/receiver/{i}"] = 1
manager.connect("sender", "receiver", pattern)
manager.spawn()
manager.start(steps=STEPS)
manager.wait()

# %%
# The files are ordinary recordings. Faster sources make their cells fire more often.
if manager.rank == 0:
    figure, panels = plt.subplots(3, 1, figsize=(7, 6), layout="constrained", sharex=True)
    with nd.open("out/sender.h5") as sent, nd.open("out/receiver.h5") as received:
        panels[0].plot(sent.spikes.time * 1e3, sent.spikes.index, "|", ms=5, color="#4477AA")
        panels[1].plot(received.spikes.time * 1e3, received.spikes.index, "|", ms=5, c="#CC6677")
        panels[2].plot(received.V.time * 1e3, received.V[f"cell{COUNT - 1}"][:], c="#CC6677", lw=1)
        print(len(sent.spikes), "spikes sent,", len(received.spikes), "spikes in answer")
    panels[0].set(ylabel="source", title="sent", ylim=(-1, COUNT))
    panels[1].set(ylabel="cell", title="answered", ylim=(-1, COUNT))
    panels[2].set(ylabel="V (mV)", xlabel="time (ms)", title=f"cell {COUNT - 1}")
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig("out/two_lpus.png", dpi=150)
