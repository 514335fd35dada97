"""Which type of neurons does a response need? Each type is silenced in turn.

The circuit is made of the synthetic tables of a connectome, whose wiring is drawn at random. The
sugar neurons are stimulated, and the motor neurons MN9 are watched.

python examples/17_silencing.py
"""

import matplotlib.pyplot as plt

import neurodriver as nd
from neurodriver.circuits.synthetic_connectome import write_tables

# %%
# Read the tables, and stimulate one type. `stimulate` adds a Poisson source for each neuron, whose
# every spike makes the neuron fire.
brain = nd.Circuit.from_connectome("flywire", *write_tables("out/connectome"))
sugar = brain.stimulate(brain.select(type="GRN_sugar"), rate=100.0)  # Hz

# %%
# `silence` returns a circuit without the connections of some neurons. Four trials of each circuit
# run together, as a batch.
conditions = {"none": sugar}
for name in ("IN1", "IN2", "LN"):
    conditions[name] = sugar.silence(brain.select(type=name))
runs = {}
for name, circuit in conditions.items():
    with nd.LPU(circuit, dt=1e-4, batch=4, seed=range(4)) as lpu:
        runs[name] = lpu.run(duration=0.5, record=["spike_state"]).recording

# %%
# The rates of all types under each condition. The one that changes most comes first.
rates = nd.compare(runs, brain, by="type")
print(rates)

# %%
# The motor neurons alone. Without IN1 they lose most of their rate. Without LN, which inhibits,
# they fire more.
at = rates.groups.index("MN9")
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.bar(rates.conditions, rates.rates[:, at], yerr=rates.deviations[:, at], color="#4477AA")
axes.set(xlabel="silenced type", ylabel="rate of MN9 (Hz)", title="What MN9 needs")
axes.spines[["top", "right"]].set_visible(False)
figure.savefig("out/silencing.png", dpi=150)
