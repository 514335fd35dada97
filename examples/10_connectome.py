"""From the tables of a connectome to an answer: stimulate a type of neurons, silence another one.

The tables are synthetic: they have the columns of FlyWire, and a wiring that is drawn at random.
Give the folder of the real ones as an argument, and replace the two names of types.
docs/connectomes.md names the tables.

python examples/10_connectome.py
"""

import sys
from pathlib import Path

import neurodriver as nd
from neurodriver.circuits.synthetic_connectome import write_tables

# %%
# The tables: connections, and what is known of each neuron.
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/connectome")
if len(sys.argv) == 1:
    write_tables(folder)
names = ("neurons.csv.gz", "classification.csv.gz", "consolidated_cell_types.csv.gz")
neurons = [folder / name for name in names]
brain = nd.Circuit.from_connectome("flywire", folder / "connections.csv.gz", *neurons)
print(brain)

# %%
# Two conditions, with four trials each. A batch runs the trials together.
sugar = brain.stimulate(brain.select(type="GRN_sugar"), rate=100.0)  # Hz
conditions = {"sugar": sugar, "IN1 silenced": sugar.silence(brain.select(type="IN1"))}
runs = {}
for name, circuit in conditions.items():
    with nd.LPU(circuit, dt=1e-4, batch=4, seed=range(4)) as lpu:  # four trials
        runs[name] = lpu.run(duration=0.5, record=["spike_state"]).recording

# %%
# The rate of each type under both conditions.
rates = nd.compare(runs, brain, by="type")
print(rates)
rates.plot("out/connectome_rates.png")
