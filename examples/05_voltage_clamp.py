"""A voltage clamp: an input that reads the LPU's state at every step, against a noisy current.

python examples/05_voltage_clamp.py
"""

import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd

# %%
# An input of one's own computes its values in Python before each step. It can read the state of the
# LPU.
HOLD = -62.0  # mV


class VoltageClamp(nd.UserInput):
    """Injects a current in proportion to the distance from the holding potential."""

    def update_input(self):
        self.variables["I"]["input"] = 10.0 * (HOLD - self.lpu.get("V"))


# %%
# The noise would move the potential by several mV. `RecordedInput` keeps the current of the clamp.
circuit = nd.example("one_neuron")
noise = nd.NoiseInput("I", ["neuron"], mean=0.5, sigma=0.5, tau=5e-3, seed=1)
clamp = nd.RecordedInput(VoltageClamp([("I", ["neuron"])]), "out/clamp_current.h5", overwrite=True)
recorder = nd.MemoryRecorder([("V", None)])
with nd.LPU(circuit, dt=1e-4, inputs=[noise, clamp], recorders=[recorder]) as lpu:
    lpu.run(duration=0.5)
free = nd.MemoryRecorder([("V", None)])
with nd.LPU(circuit, dt=1e-4, inputs=[noise], recorders=[free]) as lpu:
    lpu.run(duration=0.5)

# %%
# The clamp current mirrors the noise.
V = recorder.recording.V
v = V[1000:, 0]
with nd.Recording("out/clamp_current.h5") as recording:
    injected = recording.data("I")[:, 0]
    current = injected[1000:]
print(f"V {v.mean():.2f} mV, held within {np.abs(v - HOLD).max():.2f} mV of {HOLD}")
print(f"clamp current {current.mean():.2f} +- {current.std():.2f} uA/cm^2")
figure, panels = plt.subplots(2, 1, figsize=(7, 4.2), layout="constrained", sharex=True)
time = V.time * 1e3
panels[0].plot(time, free.recording.V[:, 0], color="0.7", lw=0.8, label="without clamp")
panels[0].plot(time, V[:, 0], color="#4477AA", lw=0.8, label=f"held at {HOLD:g} mV")
panels[0].set(ylabel="V (mV)", title="potential")
panels[0].legend(frameon=False, ncols=2)
panels[1].plot(time, injected[: len(V)], color="#CC6677", lw=0.8)
panels[1].set(ylabel="I (µA/cm²)", xlabel="time (ms)", title="current of the clamp")
panels[1].set_ylim(current.min() - 0.2, current.max() + 0.2)  # it begins with 80
for panel in panels:
    panel.spines[["top", "right"]].set_visible(False)
figure.savefig("out/voltage_clamp.png", dpi=150)
