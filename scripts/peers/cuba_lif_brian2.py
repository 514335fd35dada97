"""CUBA LIF (Brette 2007 benchmark 2) in Brian2, exact."""
from common import args, CUBA as P
a = args(4000, 1.0, target="cpp", network="")
import brian2_util
b = brian2_util.setup(a)
ns = {k: float(v) for k, v in P.items() if k not in ("K", "dt")}
ms = b.ms
b.defaultclock.dt = P["dt"] * ms
# currents in pA, voltages in mV (dimensionless here)
G = b.NeuronGroup(a.n, """
dv/dt = ((EL-v)/taum + (Ie+Ii)/C)/ms : 1 (unless refractory)
dIe/dt = -Ie/(taue*ms) : 1
dIi/dt = -Ii/(taui*ms) : 1
""", threshold="v>=Vt", reset="v=Vr", refractory=brian2_util.rest(P) * ms, method="exact", namespace=ns)
ne = int(0.8 * a.n)
Ce = b.Synapses(G[:ne], G, on_pre="Ie_post += we", delay=P["dt"] * ms, namespace=ns)
Ci = b.Synapses(G[ne:], G, on_pre="Ii_post += wi", delay=P["dt"] * ms, namespace=ns)
brian2_util.join(a, P, G, Ce, Ci, {"v": "Vr + (Vt-Vr)*rand()"})
M = b.SpikeMonitor(G, record=bool(a.spikes))
net = b.Network(G, Ce, Ci, M)
brian2_util.go(b, a, "cuba_lif", net, M, lambda: len(Ce) + len(Ci), P["dt"])
