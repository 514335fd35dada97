"""1,000 noisy Izhikevich neurons, printed step by step; a tensor shares their spikes."""

import numpy as np

import neurodriver as nd

r, exc = np.random.default_rng(0).random(1000), np.arange(1000) < 800
given = {"noise": np.where(exc, 5, 2), "a": np.where(exc, 0.02, 0.02 + 0.08 * r)}
given |= {"b": np.where(exc, 0.2, 0.25 - 0.05 * r), "c": np.where(exc, -65 + 15 * r**2, -65)}
given |= {"d": np.where(exc, 8 - 6 * r**2, 2)}
cells = nd.Population("IzhikevichNoisy", 1000, name="cells", **given)
fan, late = nd.FixedOutDegree(100), nd.Uniform(1e-3, 10e-3)
up = nd.Projection(cells[:800], cells, fan, weight=nd.Uniform(0, 2), delay=late, name="e")
down = nd.Projection(cells[800:], cells, fan, weight=nd.Uniform(-4, 0), delay=1e-3, name="i")
spikes = np.zeros(1000)  # on a GPU: torch.zeros(1000, dtype=torch.float64, device="cuda")
with nd.LPU(nd.Circuit([cells], [up, down], seed=1), dt=1e-3) as lpu:  # backend="cuda"
    for _ in range(1000):
        lpu.advance(1)
        spikes += np.from_dlpack(lpu["cells"].shared("spike_state"))  # torch.from_dlpack
        lpu["cells"].show(rows=4)  # time, states of the first cells, who fired, how many so far
print(f"{spikes[:800].mean():.1f} and {spikes[800:].mean():.1f} Hz")
