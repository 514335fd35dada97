"""A sweep: how the rate of a neuron grows with its current, with and without noise.

The points of a sweep are independent, so they are computed in parallel. The results come as one
Dataset of xarray.

python examples/14_sweep.py
"""

import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd

# %%
# A function makes the circuit of one point. Each argument is an axis of the sweep.
SECONDS = 1.0


def build(current: float, noise: float) -> nd.LPU:
    """Return 20 regular spiking neurons that get a current, and noise each of their own."""
    cells = nd.Population("Izhikevich", 20, name="cells")
    into = nd.NoiseInput("I", cells, mean=current, sigma=noise, tau=5e-3, seed=1)
    spikes = nd.MemoryRecorder([("spike_state", None)])
    return nd.LPU(nd.Circuit([cells]), 1e-4, [into], [spikes])


# %%
# Other processes import this file, so the sweep begins where this file is the program.
if __name__ == "__main__":
    axes = {"current": np.arange(0.0, 16.0, 1.0), "noise": [0.0, 5.0, 10.0]}
    found = nd.sweep(build, axes, duration=SECONDS)
    rate = found.spike_state_count.mean("spike_state_uid") / SECONDS
    print(rate.sel(noise=0.0).values.round(1), "Hz without noise")

    # %%
    # Without noise the neuron begins to fire at a sharp threshold. Noise makes spikes below it.
    figure, panel = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for noise, colour in zip(rate.noise.values, ("#4477AA", "#DDAA33", "#CC6677"), strict=True):
        panel.plot(rate.current, rate.sel(noise=noise), "o-", ms=4, c=colour, label=f"{noise:g}")
    panel.set(xlabel="mean current (mV/ms)", ylabel="rate (Hz)", title="Regular spiking neurons")
    panel.legend(title="noise (mV/ms)", frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    figure.savefig("out/sweep.png", dpi=150)
