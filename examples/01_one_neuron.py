"""One leaky integrate-and-fire neuron answers a step of current.

python examples/01_one_neuron.py
"""

import neurodriver as nd

# %%
# The circuit has one component, called `neuron`. A current of 10 uA/cm^2 flows into it from 20 to
# 80 ms.
circuit = nd.example("one_neuron")
current = nd.StepInput("I", ["neuron"], 10.0, start=0.02, stop=0.08)

# %%
# The recorder writes the potential and the spikes to a file. `None` stands for all components.
recorder = nd.HDF5Recorder(
    "out/one_neuron.h5", [("V", None), ("spike_state", None)], overwrite=True
)
with nd.LPU(circuit, dt=1e-4, inputs=[current], recorders=[recorder]) as lpu:
    lpu.run(duration=0.1)

# %%
# The figure has a panel for each variable.
nd.plot_recording("out/one_neuron.h5", "out/one_neuron.png", title="LeakyIAF, 10 µA/cm²")
print(len(nd.Recording("out/one_neuron.h5").spikes()["neuron"]), "spikes; see out/one_neuron.png")
