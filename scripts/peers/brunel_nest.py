"""Brunel (2000) asynchronous irregular network in NEST (iaf_psc_delta, exact)."""

from common import args, BRUNEL as P

a = args(10000, 1.0)
import nest_util

a.device_conns = a.n


def build(nest, rng):
    n, ne = a.n, int(0.8 * a.n)
    rate = P["eta"] * P["Vt"] / (P["J"] * P["tau"] * 1e-3)  # summed over CE sources
    G = nest.Create(
        "iaf_psc_delta",
        n,
        dict(C_m=1.0, tau_m=P["tau"], E_L=0.0, V_th=P["Vt"], V_reset=P["Vr"], t_ref=P["tref"]),
    )
    G.V_m = rng.random(n) * P["Vt"]
    X = nest.Create("poisson_generator", params=dict(rate=rate))
    nest.Connect(X, G, "all_to_all", dict(weight=P["J"], delay=P["delay"]))
    rule = dict(rule="pairwise_bernoulli", p=P["p"])
    nest.Connect(G[:ne], G, rule, dict(weight=P["J"], delay=P["delay"]))
    nest.Connect(G[ne:], G, rule, dict(weight=-P["g"] * P["J"], delay=P["delay"]))
    return G


nest_util.go(a, "brunel", build, P["dt"], method="exact")
