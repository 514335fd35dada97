"""The cortical microcircuit of Potjans & Diesmann 2014 (doi:10.1093/cercor/bhs358) at any scale.

In-degrees and sizes are scaled alike; weights grow by 1 / sqrt(scale) and a constant current makes
up for the mean that is lost, as in van Albada et al. 2015 (doi:10.1371/journal.pcbi.1004490).
pF, mV, ms, pA, Hz.
"""
import numpy as np

P = dict(C=250.0, taum=10.0, EL=-65.0, Vt=-50.0, Vr=-65.0, tref=2.0, taus=0.5, w=87.81, g=4.0,
         wsd=0.1, dE=1.5, dI=0.8, dsd=0.5, bg=8.0, V0=-58.0, V0sd=10.0, dt=0.1)
N = np.array([20683, 5834, 21915, 5479, 4850, 1065, 14395, 2948])       # L23E L23I L4E L4I ...
PROB = np.array([                                                         # [target, source]
    [.1009, .1689, .0437, .0818, .0323, .0000, .0076, .0000],
    [.1346, .1371, .0316, .0515, .0755, .0000, .0042, .0000],
    [.0077, .0059, .0497, .1350, .0067, .0003, .0453, .0000],
    [.0691, .0029, .0794, .1597, .0033, .0000, .1057, .0000],
    [.1004, .0622, .0505, .0057, .0831, .3726, .0204, .0000],
    [.0548, .0269, .0257, .0022, .0600, .3158, .0086, .0000],
    [.0156, .0066, .0211, .0166, .0572, .0197, .0396, .2252],
    [.0364, .0010, .0034, .0005, .0277, .0080, .0658, .1443]])
K_EXT = np.array([1600, 1500, 2100, 1900, 2000, 1900, 2900, 2100])
RATES = np.array([0.903, 2.965, 4.414, 5.876, 7.569, 8.633, 1.105, 7.829])    # at full scale


def scaled(scale):
    """Return sizes, synapses [target, source], mean weights [target, source], K_ext, w_ext, I."""
    synapses = np.log(1 - PROB) / np.log(1 - 1.0 / np.outer(N, N))
    w = np.where(np.arange(8) % 2 == 0, P["w"], -P["g"] * P["w"]) * np.ones((8, 1))
    w[0, 2] *= 2                                                          # L4E -> L23E
    mean = (w * synapses / N[:, None]) @ RATES + P["w"] * K_EXT * P["bg"]
    current = 1e-3 * P["taus"] * (1 - np.sqrt(scale)) * mean
    return (np.rint(N * scale).astype(int), np.rint(synapses * scale**2).astype(int),
            w / np.sqrt(scale), K_EXT * scale, P["w"] / np.sqrt(scale), current)
