"""Potjans & Diesmann (2014) microcircuit in NEST (iaf_psc_exp, exact), down-scaled."""
from common import args
from potjans import P, scaled
a = args(0, 1.0, scale=0.1)
import numpy as np
import nest_util
sizes, synapses, w, k_ext, w_ext, current = scaled(a.scale)
a.n = int(sizes.sum())
a.device_conns = a.n


def build(nest, rng):
    G = nest.Create("iaf_psc_exp", a.n, dict(C_m=P["C"], tau_m=P["taum"], E_L=P["EL"], V_th=P["Vt"],
                    V_reset=P["Vr"], t_ref=P["tref"], tau_syn_ex=P["taus"], tau_syn_in=P["taus"]))
    G.V_m = P["V0"] + P["V0sd"] * rng.normal(size=a.n)
    G.I_e = np.repeat(current, sizes)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    pops = [G[int(i):int(j)] for i, j in zip(ends[:-1], ends[1:])]
    inf = float("inf")
    for t in range(8):
        X = nest.Create("poisson_generator", params=dict(rate=float(k_ext[t] * P["bg"])))
        nest.Connect(X, pops[t], "all_to_all", dict(weight=float(w_ext), delay=P["dE"]))
        for s in range(8):
            if not synapses[t, s]:
                continue
            mean, d = float(w[t, s]), P["dE"] if s % 2 == 0 else P["dI"]
            low, high = (0.0, inf) if mean > 0 else (-inf, 0.0)
            spec = dict(weight=nest.math.redraw(nest.random.normal(mean, abs(mean) * P["wsd"]), low, high),
                        delay=nest.math.redraw(nest.random.normal(d, d * P["dsd"]), P["dt"] / 2, inf))
            nest.Connect(pops[s], pops[t], dict(rule="fixed_total_number", N=int(synapses[t, s])), spec)
    return G


nest_util.go(a, "potjans_diesmann", build, P["dt"], method="exact", scale=a.scale)
