"""All-to-all HH neurons with per-synapse alpha state, forward Euler, in Brian2."""

from common import args, HHA as P

a = args(128, 0.01, target="cpp")
import brian2_util

b = brian2_util.setup(a)
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
ns = {k: float(v) for k, v in P.items() if k not in ("dt", "steps", "I")}
ns["Iext"] = P["I"]
G = b.NeuronGroup(
    a.n,
    """
dv/dt = (Iext + Isyn - gNa*m**3*h*(v-ENa) - gK*n**4*(v-EK) - gL*(v-EL))/ms : 1
dn/dt = (0.1/exprel(-(v+55)/10)*(1-n) - 0.125*exp(-(v+65)/80)*n)/ms : 1
dm/dt = (1.0/exprel(-(v+40)/10)*(1-m) - 4*exp(-(v+65)/18)*m)/ms : 1
dh/dt = (0.07*exp(-(v+65)/20)*(1-h) - h/(exp(-(v+35)/10)+1))/ms : 1
Isyn : 1
""",
    threshold="v>-30",
    refractory="v>-30",
    method="euler",
    namespace=ns,
)
S = b.Synapses(
    G,
    G,
    """
dz/dt = y/ms : 1 (clock-driven)
dy/dt = (-(ar+ad)*y - ar*ad*z)/ms : 1 (clock-driven)
E : 1 (constant)
Isyn_post = gmax*z*(E - v_post) : 1 (summed)
""",
    on_pre="y += ar*ad",
    method="euler",
    namespace=ns,
)
S.connect(condition="i != j")
S.E = "Ee + (Ei-Ee)*(i % 2)"
G.v = "-65 + 10.0*i/N"
G.h = 0.6
G.m = 0.05
G.n = 0.32
M = b.SpikeMonitor(G, record=False)
net = b.Network(G, S, M)
brian2_util.go(b, a, "hh_alpha", net, M, lambda: len(S), P["dt"])
