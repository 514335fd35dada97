"""COBA HH (Brette 2007 benchmark 3) in Brian2, exponential Euler."""

from common import args, HH as P

a = args(4000, 1.0, target="cpp")
import brian2_util

b = brian2_util.setup(a)
ns = {k: float(v) for k, v in P.items() if k not in ("K", "dt")}
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
G = b.NeuronGroup(
    a.n,
    """
dv/dt = (gL*(EL-v) + ge*(Ee-v) + gi*(Ei-v) - gNa*m**3*h*(v-ENa) - gK*n**4*(v-EK))/C/ms : 1
dm/dt = (am*(1-m) - bm*m)/ms : 1
dn/dt = (an*(1-n) - bn*n)/ms : 1
dh/dt = (ah*(1-h) - bh*h)/ms : 1
dge/dt = -ge/(taue*ms) : 1
dgi/dt = -gi/(taui*ms) : 1
am = 0.32*4/exprel((13-v+VT)/4) : 1
bm = 0.28*5/exprel((v-VT-40)/5) : 1
ah = 0.128*exp((17-v+VT)/18) : 1
bh = 4/(1+exp((40-v+VT)/5)) : 1
an = 0.032*5/exprel((15-v+VT)/5) : 1
bn = 0.5*exp((10-v+VT)/40) : 1
""",
    threshold="v>-20",
    refractory=3 * ms,
    method="exponential_euler",
    namespace=ns,
)
ne = int(0.8 * a.n)
Ce = b.Synapses(G[:ne], G, on_pre="ge_post += we", namespace=ns)
Ci = b.Synapses(G[ne:], G, on_pre="gi_post += wi", namespace=ns)
Ce.connect(p=P["K"] / a.n)
Ci.connect(p=P["K"] / a.n)
G.v = "EL + randn()*5 - 5"
G.ge = "(randn()*1.5 + 4)*10"
G.gi = "(randn()*12 + 20)*10"
M = b.SpikeMonitor(G, record=False)
net = b.Network(G, Ce, Ci, M)
brian2_util.go(b, a, "coba_hh", net, M, lambda: len(Ce) + len(Ci), P["dt"])
