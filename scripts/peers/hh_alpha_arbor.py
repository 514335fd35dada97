"""All-to-all HH cells with per-synapse double exponentials (the same kernel) in Arbor."""

from common import args, Timer, report, HHA as P

a = args(128, 0.01)
import arbor as A
from arbor import units as U
import math

AREA = 1e-5  # cm2
DIAM = math.sqrt(AREA * 1e8 / math.pi)  # um, cylinder with length = diameter
TP = math.log(P["ad"] / P["ar"]) / (P["ad"] - P["ar"])
PEAK = P["ar"] * P["ad"] / (P["ad"] - P["ar"]) * (math.exp(-P["ar"] * TP) - math.exp(-P["ad"] * TP))
W = P["gmax"] * PEAK * AREA * 1e3  # uS


class Net(A.recipe):
    def __init__(self):
        A.recipe.__init__(self)
        self.p = A.neuron_cable_properties()
        self.p.catalogue = A.default_catalogue()
        if hasattr(self.p, "coalesce_synapses"):
            self.p.coalesce_synapses = False
        t = A.segment_tree()
        t.append(
            A.mnpos, A.mpoint(-DIAM / 2, 0, 0, DIAM / 2), A.mpoint(DIAM / 2, 0, 0, DIAM / 2), tag=1
        )
        self.tree = A.morphology(t)

    def num_cells(self):
        return a.n

    def cell_kind(self, gid):
        return A.cell_kind.cable

    def global_properties(self, kind):
        return self.p

    def cell_description(self, gid):
        d = (
            A.decor()
            .set_property(
                Vm=(-65 + 10.0 * gid / a.n) * U.mV, cm=0.01 * U.F / U.m2, tempK=279.45 * U.Kelvin
            )
            .set_ion("na", rev_pot=P["ENa"] * U.mV)
            .set_ion("k", rev_pot=P["EK"] * U.mV)
            .paint("(all)", A.density("hh", dict(gnabar=0.12, gkbar=0.036, gl=0.0003, el=P["EL"])))
            .place("(location 0 0.5)", A.i_clamp(P["I"] * AREA * 1e3 * U.nA))
            .place("(location 0 0.5)", A.threshold_detector(-30 * U.mV), "det")
        )
        for k in range(a.n):
            if k != gid:
                d.place(
                    "(location 0 0.5)",
                    A.synapse(
                        "exp2syn",
                        dict(
                            tau1=1 / P["ad"], tau2=1 / P["ar"], e=P["Ee"] if k % 2 == 0 else P["Ei"]
                        ),
                    ),
                    f"s{k}",
                )
        return A.cable_cell(self.tree, d, A.label_dict(), A.cv_policy_single())

    def connections_on(self, gid):
        return [A.connection((k, "det"), f"s{k}", W, 0.1 * U.ms) for k in range(a.n) if k != gid]


b, r, c, s = [], [], [], []
for k in range(a.repeat):
    with Timer() as t:
        net = Net()
        ctx = A.context(threads=a.threads)
        sim = A.simulation(net, ctx, A.partition_load_balance(net, ctx))
        sim.record(A.spike_recording.all)
    b.append(t.wall)
    with Timer() as t:
        sim.run(a.bio * 1e3 * U.ms, P["dt"] * U.ms)
    r.append(t.wall)
    c.append(t.cpu)
    s.append(len(sim.spikes()))
    del sim
report(
    "hh_alpha",
    "arbor",
    a,
    a.n * (a.n - 1),
    P["dt"],
    b,
    0.0,
    r,
    c,
    s,
    method="implicit cable, cnexp gates",
    coalesced=not hasattr(net.p, "coalesce_synapses"),
    precision="double",
)
