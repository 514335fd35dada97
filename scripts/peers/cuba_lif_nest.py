"""CUBA LIF (Brette 2007 benchmark 2) in NEST (iaf_psc_exp, exact)."""
from common import args, CUBA as P
a = args(4000, 1.0, network="")
import numpy as np
import nest_util


def build(nest, rng):
    n, ne = a.n, int(0.8 * a.n)
    G = nest.Create("iaf_psc_exp", n, dict(C_m=P["C"], tau_m=P["taum"], E_L=P["EL"], V_th=P["Vt"],
                    V_reset=P["Vr"], t_ref=P["tref"], tau_syn_ex=P["taue"], tau_syn_in=P["taui"]))
    weights = {"exc": P["we"], "inh": P["wi"]}
    if a.network:
        held = np.load(a.network)
        G.V_m = held["v"]
        ids = np.asarray(G.tolist())
        for kind, weight in weights.items():
            source, target = ids[held[kind]]
            each = np.ones(len(source))
            nest.Connect(source, target, "one_to_one", dict(weight=weight * each, delay=P["dt"] * each))
        return G
    G.V_m = P["Vr"] + (P["Vt"] - P["Vr"]) * rng.random(n)
    rule = dict(rule="pairwise_bernoulli", p=P["K"] / n)
    for sources, weight in zip((G[:ne], G[ne:]), weights.values()):
        nest.Connect(sources, G, rule, dict(weight=weight, delay=P["dt"]))
    return G


nest_util.go(a, "cuba_lif", build, P["dt"], method="exact")
