"""A voltage clamp: an input that reads the LPU's state at every step, against a noisy current.

python examples/05_voltage_clamp.py
"""

import numpy as np

import neurodriver as nd

HOLD = -62.0  # mV


class VoltageClamp(nd.UserInput):
    """Injects a current in proportion to the distance from the holding potential."""

    def update_input(self):
        self.variables["I"]["input"] = 10.0 * (HOLD - self.lpu.get("V"))


circuit = nd.example("one_neuron")
noise = nd.NoiseInput("I", ["neuron"], mean=0.5, sigma=0.5, tau=5e-3, seed=1)
clamp = nd.RecordedInput(VoltageClamp([("I", ["neuron"])]), "out/clamp_current.h5", overwrite=True)
recorder = nd.MemoryRecorder([("V", None)])
with nd.LPU(circuit, dt=1e-4, inputs=[noise, clamp], recorders=[recorder]) as lpu:
    lpu.run(duration=0.5)
v = recorder.get("V")[1000:, 0]
with nd.Recording("out/clamp_current.h5") as recording:
    current = recording.data("I")[1000:, 0]
print(f"V {v.mean():.2f} mV, held within {np.abs(v - HOLD).max():.2f} mV of {HOLD}")
print(f"clamp current {current.mean():.2f} +- {current.std():.2f} uA/cm^2")
