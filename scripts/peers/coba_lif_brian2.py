"""COBA LIF (Brette 2007 benchmark 1) in Brian2."""

from common import args, COBA as P

a = args(4000, 1.0, target="cpp")
import brian2_util

b = brian2_util.setup(a)
ns = {k: float(v) for k, v in P.items() if k not in ("K", "dt")}
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
# conductances in nS, voltages in mV (dimensionless here)
G = b.NeuronGroup(
    a.n,
    """
dv/dt = (gL*(EL-v) + ge*(Ee-v) + gi*(Ei-v))/C/ms : 1 (unless refractory)
dge/dt = -ge/(taue*ms) : 1
dgi/dt = -gi/(taui*ms) : 1
""",
    threshold="v>Vt",
    reset="v=Vr",
    refractory=P["tref"] * ms,
    method="euler",
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
brian2_util.go(b, a, "coba_lif", net, M, lambda: len(Ce) + len(Ci), P["dt"])
