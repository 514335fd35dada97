"""The fly brain of Shiu et al. (2024) in NEST, as near as iaf_psc_exp comes to it.

Its current survives a spike, where the model's is set to 0, and what arrives while refractory is
kept. A kick cannot move V alone, so the neurons that are kicked are parrots of their kicks.
"""
from common import args, FLY as P
a = args(0, 1.0, table="fly.npz", rate=100.0)
import numpy as np
import nest_util
table = np.load(a.table)
a.n = int(table["neurons"])
kicked = np.zeros(a.n, bool)
kicked[table["kicked"]] = True
use = ~kicked[table["target"]]
source, target = table["source"][use], table["target"][use]
weight = P["w"] * table["count"][use] / P["taum"]          # C = 1 pF: pA
a.device_conns = int(kicked.sum()) + len(table["kicked"])


def build(nest, rng):
    G = nest.Create("iaf_psc_exp", a.n, dict(C_m=1.0, tau_m=P["taum"], E_L=P["V0"], V_m=P["V0"],
                    V_th=P["Vt"], V_reset=P["V0"], t_ref=P["tref"], tau_syn_ex=P["tau"],
                    tau_syn_in=P["tau"]))
    K = nest.Create("parrot_neuron", int(kicked.sum()))
    ids = np.array(G.tolist())
    ids[kicked] = K.tolist()
    X = nest.Create("poisson_generator", params=dict(rate=a.rate))
    nest.Connect(X, K, "all_to_all", dict(delay=P["dt"]))
    nest.Connect(ids[source], ids[target], "one_to_one",
                 dict(weight=weight, delay=np.full(len(weight), P["delay"])))
    a.ids = ids
    return nest.NodeCollection(np.sort(ids).tolist())


nest_util.go(a, "fly", build, P["dt"], method="exact")
