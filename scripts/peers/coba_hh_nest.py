"""COBA HH (Brette 2007 benchmark 3) in NEST (hh_cond_exp_traub, adaptive RKF45)."""

from common import args, HH as P

a = args(4000, 1.0)
import numpy as np
import nest_util

a.device_conns = 2 * a.n


def build(nest, rng):
    n, ne = a.n, int(0.8 * a.n)
    G = nest.Create(
        "hh_cond_exp_traub",
        n,
        dict(
            C_m=P["C"],
            g_L=P["gL"],
            E_L=P["EL"],
            g_Na=P["gNa"],
            g_K=P["gK"],
            E_Na=P["ENa"],
            E_K=P["EK"],
            V_T=P["VT"],
            E_ex=P["Ee"],
            E_in=P["Ei"],
            tau_syn_ex=P["taue"],
            tau_syn_in=P["taui"],
            t_ref=3.0,
        ),
    )
    G.V_m = P["EL"] + rng.normal(size=n) * 5 - 5
    # g_ex and g_in cannot be set on this model: one weighted spike at the first step does it
    K = nest.Create("spike_generator", params=dict(spike_times=[P["dt"]]))
    for w in ((rng.normal(size=n) * 1.5 + 4) * 10, -(rng.normal(size=n) * 12 + 20) * 10):
        w = np.maximum(w, 0) if w.mean() > 0 else np.minimum(w, 0)
        nest.Connect(K, G, "all_to_all", dict(weight=w[:, None], delay=P["dt"]))
    rule = dict(rule="pairwise_bernoulli", p=P["K"] / n)
    nest.Connect(G[:ne], G, rule, dict(weight=P["we"], delay=P["dt"]))
    nest.Connect(G[ne:], G, rule, dict(weight=-P["wi"], delay=P["dt"]))
    return G


nest_util.go(a, "coba_hh", build, P["dt"], method="rkf45 adaptive")
