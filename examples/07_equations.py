"""A neuron that is written as equations: it adapts, fires with noise, and is printed as text.

python examples/07_equations.py
"""

import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd
from neurodriver.model.page import source


# %%
# Names of the equations are states, parameters, or terms of their own. `xi` is white noise.
class AdEx(nd.NDComponent):
    """Adaptive exponential neuron (Brette & Gerstner 2005) with white noise."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = {
        "C": nd.Parameter("pF", 281.0, above=0.0),
        "g_L": nd.Parameter("nS", 30.0),
        "E_L": nd.Parameter("mV", -70.6),
        "V_T": nd.Parameter("mV", -50.4),
        "D": nd.Parameter("mV", 2.0, above=0.0),
        "a": nd.Parameter("nS", 4.0),
        "b": nd.Parameter("pA", 80.5),
        "tau_w": nd.Parameter("ms", 144.0, above=0.0),
        "sigma": nd.Parameter("mV", 1.0),
    }
    states = {"V": nd.State("mV", "E_L")}
    equations = """
        tau = C / g_L : ms
        dV/dt = (E_L - V + D*exp((V - V_T)/D) + (I - w)/g_L) / tau + sigma*sqrt(2/tau)*xi : mV
        dw/dt = (a*(V - E_L) - w) / tau_w : pA
        I : pA
    """
    threshold = "V > 20*mV"
    reset = "V = E_L; w += b"


# %%
# Fifty neurons get the same current, and noise from 0 to 4 mV.
circuit = nd.Circuit.from_arrays([(AdEx, 50, {"sigma": np.linspace(0, 4, 50)}, None)])
current = nd.StepInput("I", circuit.uids.tolist(), 800.0, 0.0, 1.0)
recorder = nd.MemoryRecorder([("spike_state", None), ("V", None)])
with nd.LPU(circuit, dt=5e-5, inputs=[current], recorders=[recorder]) as lpu:
    lpu.run(duration=0.5)
spikes = recorder.get("spike_state")
first = np.sort(spikes["time"][spikes["index"] == 0])
counts = np.bincount(spikes["index"], minlength=50)
print(f"method {AdEx.method}; without noise {len(first)} spikes")
print(f"intervals grow from {1e3 * (first[1] - first[0]):.0f} to {1e3 * np.diff(first)[-1]:.0f} ms")
print(f"with noise of 4 mV {counts[-1]} spikes")

# %%
# neurodriver has written the text of a step, which a compiler translates.
print("the text that runs:")
print("\n".join(line for line in source(AdEx) if "_slope" in line or "_new" in line))

# %%
# The adaptation makes the intervals longer. Noise makes them irregular.
figure, panels = plt.subplots(2, 1, figsize=(7, 4.6), layout="constrained", sharex=True)
V = recorder.recording.V
panels[0].plot(V.time * 1e3, V[:, 0], color="#4477AA", lw=0.8)
panels[0].vlines(first * 1e3, -45, 20, color="#4477AA", lw=0.8)  # the peaks lie between rows
panels[0].set(ylabel="V (mV)", title="without noise")
panels[1].plot(spikes["time"] * 1e3, spikes["index"] * 4 / 49, "|", ms=4, color="#222222")
panels[1].set(ylabel="noise (mV)", xlabel="time (ms)", title="spikes of 50 neurons")
for panel in panels:
    panel.spines[["top", "right"]].set_visible(False)
figure.savefig("out/equations.png", dpi=150)
