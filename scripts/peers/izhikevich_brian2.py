"""Izhikevich (2003) network, 100 synapses per neuron, delays 1..20 ms, in Brian2."""

from common import args, IZHI as P

a = args(1000, 1.0, target="cpp")
import brian2_util

b = brian2_util.setup(a)
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
ne = int(0.8 * a.n)
ns = dict(ne=ne, **{k: float(P[k]) for k in ("wE", "wI", "sE", "sI")})
G = b.NeuronGroup(
    a.n,
    """
v : 1
u : 1
a : 1
b : 1
c : 1
d : 1
s : 1
I : 1
""",
    threshold="v>=30",
    reset="v=c; u+=d",
    namespace=ns,
)
# the paper's own update: two half steps of v, one step of u
G.run_regularly(
    """
J = I + s*randn()
v += 0.5*(0.04*v*v + 5*v + 140 - u + J)
v += 0.5*(0.04*v*v + 5*v + 140 - u + J)
u += a*(b*v - u)
I = 0
""",
    dt=P["dt"] * ms,
    when="groups",
)
G.c = "rand()"
G.d = "8 - 6*c*c"
G.a = "0.02 + 0.08*c*int(i>=ne)"
G.b = "0.2 + (0.05 - 0.05*c)*int(i>=ne)"
G.d = "2 + (6 - 6*c*c)*int(i<ne)"
G.s = "sI + (sE-sI)*int(i<ne)"
G.c = "-65 + 15*c*c*int(i<ne)"
G.v = -65
G.u = "b*v"
S = b.Synapses(G, G, "w : 1", on_pre="I_post += w", namespace=ns)
S.connect(j="int(rand()*N_post) for _ in range(100)")
S.w = "rand()*(wE*int(i<ne) - wI*int(i>=ne))"
S.delay = "(1 + int(rand()*20))*ms"
M = b.SpikeMonitor(G, record=False)
net = b.Network(G, S, M)
brian2_util.go(b, a, "izhikevich", net, M, lambda: len(S), P["dt"])
