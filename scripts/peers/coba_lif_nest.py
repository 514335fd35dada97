"""COBA LIF (Brette 2007 benchmark 1) in NEST (iaf_cond_exp, adaptive RKF45)."""

from common import args, COBA as P

a = args(4000, 1.0)
import nest_util


def build(nest, rng):
    n, ne = a.n, int(0.8 * a.n)
    G = nest.Create(
        "iaf_cond_exp",
        n,
        dict(
            C_m=P["C"],
            g_L=P["gL"],
            E_L=P["EL"],
            V_th=P["Vt"],
            V_reset=P["Vr"],
            t_ref=P["tref"],
            E_ex=P["Ee"],
            E_in=P["Ei"],
            tau_syn_ex=P["taue"],
            tau_syn_in=P["taui"],
        ),
    )
    G.V_m = P["EL"] + rng.normal(size=n) * 5 - 5
    G.g_ex = np.maximum(0, (rng.normal(size=n) * 1.5 + 4) * 10)
    G.g_in = np.maximum(0, (rng.normal(size=n) * 12 + 20) * 10)
    rule = dict(rule="pairwise_bernoulli", p=P["K"] / n)
    nest.Connect(G[:ne], G, rule, dict(weight=P["we"], delay=P["dt"]))
    nest.Connect(G[ne:], G, rule, dict(weight=-P["wi"], delay=P["dt"]))
    return G


import numpy as np

nest_util.go(a, "coba_lif", build, P["dt"], method="rkf45 adaptive")
