"""Brunel (2000) asynchronous irregular network in Brian2."""

from common import args, BRUNEL as P

a = args(10000, 1.0, target="cpp")
import brian2_util

b = brian2_util.setup(a)
ms, mV = b.ms, b.mV
b.defaultclock.dt = P["dt"] * ms
ne = int(0.8 * a.n)
CE = int(P["p"] * ne)
rate = P["eta"] * P["Vt"] / (P["J"] * CE * P["tau"] * 1e-3)  # per external synapse, Hz
ns = dict(tau=P["tau"] * ms, Vt=P["Vt"], Vr=P["Vr"], J=P["J"], gJ=P["g"] * P["J"])
G = b.NeuronGroup(
    a.n,
    "dv/dt = -v/tau : 1 (unless refractory)",
    threshold="v>Vt",
    reset="v=Vr",
    refractory=P["tref"] * ms,
    method="exact",
    namespace=ns,
)
E = b.Synapses(G[:ne], G, on_pre="v_post += J", delay=P["delay"] * ms, namespace=ns)
I = b.Synapses(G[ne:], G, on_pre="v_post -= gJ", delay=P["delay"] * ms, namespace=ns)
E.connect(p=P["p"])
I.connect(p=P["p"])
X = b.PoissonInput(G, "v", CE, rate * b.Hz, P["J"])
G.v = "rand()*Vt"
M = b.SpikeMonitor(G, record=False)
net = b.Network(G, E, I, X, M)
brian2_util.go(b, a, "brunel", net, M, lambda: len(E) + len(I), P["dt"])
