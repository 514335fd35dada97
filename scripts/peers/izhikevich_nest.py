"""Izhikevich (2003) network, 100 synapses per neuron, delays 1..20 ms, in NEST."""

from common import args, IZHI as P

a = args(1000, 1.0)
import numpy as np
import nest_util

a.device_conns = a.n


def build(nest, rng):
    n, ne = a.n, int(0.8 * a.n)
    G = nest.Create("izhikevich", n, dict(consistent_integration=False))
    r = rng.random(n)
    exc = np.arange(n) < ne
    G.a = np.where(exc, 0.02, 0.02 + 0.08 * r)
    bb = np.where(exc, 0.2, 0.25 - 0.05 * r)
    G.b = bb
    G.c = np.where(exc, -65 + 15 * r * r, -65.0)
    G.d = np.where(exc, 8 - 6 * r * r, 2.0)
    G.V_m = -65.0
    G.U_m = -65.0 * bb
    for pop, sd in ((G[:ne], P["sE"]), (G[ne:], P["sI"])):
        X = nest.Create("noise_generator", params=dict(mean=0.0, std=sd, dt=P["dt"]))
        nest.Connect(X, pop, "all_to_all", dict(delay=P["dt"]))
    rule = dict(rule="fixed_outdegree", outdegree=P["K"])
    d = nest.random.uniform_int(P["dmax"]) + 1
    nest.Connect(G[:ne], G, rule, dict(weight=nest.random.uniform(0.0, P["wE"]), delay=d * 1.0))
    nest.Connect(G[ne:], G, rule, dict(weight=nest.random.uniform(-P["wI"], 0.0), delay=d * 1.0))
    return G


nest_util.go(a, "izhikevich", build, P["dt"], method="2003 half steps")
