"""NEST's hpc_benchmark, K excitatory inputs of each neuron, power-law STDP from E to E, in Brian2.

The delay is axonal here, traces belong to neurons (faster than Brian2's event-driven variables of
synapses); x arrives at synapses with the delay, through a one-to-one connection.
"""
from common import args, hpc, HPC as P
a = args(11250, 1.0, k=1000, eta=P["eta"], static=0, target="cpp")
import brian2_util
b = brian2_util.setup(a)
import math
import numpy as np
J, g, lam, alpha, ext = hpc(a.k, a.eta)
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
ne, ki = int(0.8 * a.n), a.k // 4
ns = dict(taum=P["taum"] * ms, taus=P["taus"] * ms, C=P["C"] / 1e3, kick=math.e / P["taus"] / 1e3,
          taup=P["taup"] * ms, taud=P["taud"] * ms, lam=lam, alpha=alpha, mu=P["mu"], J=J, Ji=g * J)
# V in mV, I in nA ms / ms, weights in pA; alpha currents as two exponentials. Each source
# has a fixed number of random targets, as Brian2 draws these faster than sources of a target.
G = b.NeuronGroup(a.n, """
dv/dt = -v/taum + I/C/ms : 1 (unless refractory)
dI/dt = z/ms - I/taus : 1
dz/dt = -z/taus : 1
dx/dt = -x/taup : 1
dy/dt = -y/taud : 1
""", threshold=f"v >= {P['Vt']}", reset=f"v = {P['Vr']}\ny += 1", refractory=P["tref"] * ms, method="exact", namespace=ns)
G.v = f"{P['V0']} + {P['V0sd']}*randn()"
X = b.PoissonInput(G, "z", 20, ext * 1e3 / 20 * b.Hz, weight=J * ns["kick"])
E, I = G[:ne], G[ne:]


def connect(source, target, k, text, model="", **kw):
    S = b.Synapses(source, target, model, on_pre=text, namespace=ns, delay=P["delay"] * ms, **kw)
    S.connect(j=f"int(rand()*N_post) for _ in range({k})")
    return S


trace = b.Synapses(E, E, on_pre="x_post += 1", delay=P["delay"] * ms)
trace.connect(j="i")
if a.static:
    EE = connect(E, E, a.k, "z_post += kick*J")
else:
    EE = connect(E, E, a.k, "w = clip(w - lam*alpha*w*y_post, 0, inf)\nz_post += kick*w", "w : 1",
                 on_post="w += lam*w**mu*x_pre")
    EE.w = J
EI = connect(E, I, a.k * (a.n - ne) // ne, "z_post += kick*J")
IG = connect(I, G, ki * a.n // (a.n - ne), "z_post -= kick*Ji")
M = b.SpikeMonitor(G, record=bool(a.spikes))
net = b.Network(G, X, EE, EI, IG, M, *([] if a.static else [trace]))
brian2_util.go(b, a, "stdp_hpc", net, M, lambda: len(EE) + len(EI) + len(IG), P["dt"],
               look=lambda: {} if a.static else dict(weight_mean=round(float(np.mean(EE.w)), 3), weight_sd=round(float(np.std(EE.w)), 3)),
               k=a.k, eta=a.eta, J_pA=round(J, 3), static=a.static)
