"""Izhikevich (2003) network, 100 synapses per neuron, delays 1..20 ms, STDP on the excitatory ones, in Brian2.

The delay is axonal here, so the presynaptic trace belongs to the synapse; the postsynaptic one to the neuron.
"""
from common import args, IZHI as P, IZHI_STDP as Q
a = args(10000, 10.0, static=0, target="cpp")
import brian2_util
b = brian2_util.setup(a)
import numpy as np
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
ne = int(0.8 * a.n)
ns = dict(ne=ne, **{k: float(P[k]) for k in ("wE", "wI", "sE", "sI")}, taup=Q["taup"] * ms, taud=Q["taud"] * ms,
          wmax=Q["wmax"], up=Q["lam"] * Q["wmax"], down=Q["alpha"] * Q["lam"] * Q["wmax"])
G = b.NeuronGroup(a.n, """
v : 1
u : 1
a : 1
b : 1
c : 1
d : 1
s : 1
I : 1
dy/dt = -y/taud : 1
""", threshold="v>=30", reset="v=c; u+=d; y+=1", method="exact", namespace=ns)
# the paper's own update: two half steps of v, one step of u
G.run_regularly("""
J = I + s*randn()
v += 0.5*(0.04*v*v + 5*v + 140 - u + J)
v += 0.5*(0.04*v*v + 5*v + 140 - u + J)
u += a*(b*v - u)
I = 0
""", dt=P["dt"] * ms, when="groups")
G.c = "rand()"
G.d = "8 - 6*c*c"
G.a = "0.02 + 0.08*c*int(i>=ne)"
G.b = "0.2 + (0.05 - 0.05*c)*int(i>=ne)"
G.d = "2 + (6 - 6*c*c)*int(i<ne)"
G.s = "sI + (sE-sI)*int(i<ne)"
G.c = "-65 + 15*c*c*int(i<ne)"
G.v = -65
G.u = "b*v"
E, I = G[:ne], G[ne:]
if a.static:
    S = b.Synapses(E, G, "w : 1", on_pre="I_post += w", namespace=ns)
else:
    S = b.Synapses(E, G, "w : 1\ndx/dt = -x/taup : 1 (event-driven)",
                   on_pre="w = clip(w - down*y_post, 0, wmax)\nI_post += w\nx += 1", on_post="w = clip(w + up*x, 0, wmax)", namespace=ns)
R = b.Synapses(I, G, "w : 1", on_pre="I_post += w", namespace=ns)
for one, w in ((S, str(Q["w0"])), (R, "-wI*rand()")):
    one.connect(j="int(rand()*N_post) for _ in range(100)")
    one.w = w
    one.delay = "(1 + int(rand()*20))*ms"
M = b.SpikeMonitor(G, record=bool(a.spikes))
net = b.Network(G, S, R, M)


def look():
    w = np.array(S.w) / Q["wmax"]
    return dict(weight_mean=round(float(w.mean()), 4), weight_low=round(float((w < 0.1).mean()), 4),
                weight_high=round(float((w > 0.9).mean()), 4))


brian2_util.go(b, a, "stdp_izhikevich", net, M, lambda: len(S) + len(R), P["dt"], look=look, static=a.static)
