"""Potjans & Diesmann (2014) microcircuit in Brian2, down-scaled; pairs drawn with numpy."""
from common import args
from potjans import P, scaled
a = args(0, 1.0, scale=0.1, target="cpp")
import numpy as np
import brian2_util
sizes, synapses, w, k_ext, w_ext, current = scaled(a.scale)
a.n = int(sizes.sum())
b = brian2_util.setup(a)
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
rng = np.random.default_rng(a.seed)
ends = np.concatenate([[0], np.cumsum(sizes)])
ns = {k: float(P[k]) for k in ("C", "taum", "EL", "Vt", "Vr", "taus", "V0", "V0sd")}
G = b.NeuronGroup(a.n, """
dv/dt = (EL-v)/(taum*ms) + (I+Idc)/(C*ms) : 1 (unless refractory)
dI/dt = -I/(taus*ms) : 1
Idc : 1 (constant)
""", threshold="v>=Vt", reset="v=Vr", refractory=brian2_util.rest(P) * ms, method="exact", namespace=ns)
G.v = "V0 + V0sd*randn()"
G.Idc = np.repeat(current, sizes)


def normal(mean, sd, low, high, count):
    x = rng.normal(mean, sd, count)
    while (out := (x < low) | (x > high)).any():
        x[out] = rng.normal(mean, sd, out.sum())
    return x


net = b.Network(G)
made = []
for kind in (0, 1):                                      # excitatory, inhibitory sources
    columns = []
    for t in range(8):
        for s in range(kind, 8, 2):
            m, mean, d = synapses[t, s], w[t, s], (P["dE"], P["dI"])[kind]
            low, high = (0, np.inf) if mean > 0 else (-np.inf, 0)
            columns.append((rng.integers(ends[s], ends[s + 1], m), rng.integers(ends[t], ends[t + 1], m),
                            normal(mean, abs(mean) * P["wsd"], low, high, m),
                            normal(d, d * P["dsd"], P["dt"] / 2, np.inf, m)))
    i, j, weight, delay = (np.concatenate(c) for c in zip(*columns))
    S = b.Synapses(G, G, "w : 1 (constant)", on_pre="I_post += w")
    S.connect(i=i, j=j)
    S.w = weight
    S.delay = delay * ms
    made.append(S)
drives = [b.PoissonInput(G[int(ends[t]):int(ends[t + 1])], "I", int(round(k_ext[t])), P["bg"] * b.Hz,
                         float(w_ext)) for t in range(8)]
M = b.SpikeMonitor(G, record=bool(a.spikes))
net.add(*made, *drives, M)
brian2_util.go(b, a, "potjans_diesmann", net, M, lambda: synapses.sum(), P["dt"])
