"""The fly brain of Shiu et al. (2024) in Brian2; the table of synapses is read from an npz."""
from common import args, FLY as P
a = args(0, 1.0, table="fly.npz", rate=100.0, target="cpp", network="")
import numpy as np
import brian2_util
table = np.load(a.table)            # source, target, count (signed), neurons, kicked
a.n = int(table["neurons"])
b = brian2_util.setup(a)
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
G = b.NeuronGroup(a.n, """
dv/dt = (V0 - v + g)/(taum*ms) : 1 (unless refractory)
dg/dt = -g/(tau*ms) : 1 (unless refractory)
rfc : second (constant)
""", threshold="v>Vt", reset="v=V0; g=0", refractory="rfc", method="exact",
                  namespace={k: float(P[k]) for k in ("V0", "Vt", "taum", "tau")})
G.v = P["V0"]
rest = np.full(a.n, P["tref"])
rest[table["kicked"]] = 0.0         # each kick is a spike
G.rfc = rest * ms
S = b.Synapses(G, G, "w : 1 (constant)", on_pre="g_post += w", delay=P["delay"] * ms)
S.connect(i=table["source"].astype(np.int32), j=table["target"].astype(np.int32))
S.w = P["w"] * table["count"]
if a.network:                       # kicks that were drawn elsewhere: step and source
    step, source = np.load(a.network)["kicks"]
    X = b.SpikeGeneratorGroup(len(table["kicked"]), source, step * P["dt"] * ms)
else:
    X = b.PoissonGroup(len(table["kicked"]), a.rate * b.Hz)
K = b.Synapses(X, G, on_pre="v_post += kick", namespace=dict(kick=P["kick"] * P["w"]))
K.connect(i=np.arange(len(table["kicked"])), j=table["kicked"])
M = b.SpikeMonitor(G, record=bool(a.spikes))
net = b.Network(G, S, X, K, M)
brian2_util.go(b, a, "fly", net, M, lambda: len(table["source"]), P["dt"])
