#!/usr/bin/env python
"""
Hodgkin-Huxley neurons, all to all through alpha synapses, without a manager: the graph is handed
over pickled, the results stay in memory.

python -m neurodriver.compat examples/old_style/hh_alpha.py -n 8 -o out/hh_alpha.npz
"""

import argparse
import pickle

import networkx as nx
import numpy as np
from neurokernel.LPU.InputProcessors.StepInputProcessor import StepInputProcessor
from neurokernel.LPU.LPU import LPU
from neurokernel.LPU.OutputProcessors.OutputRecorder import OutputRecorder

dt = 1e-5

parser = argparse.ArgumentParser()
parser.add_argument("-n", "--number", default=8, type=int, help="number of neurons")
parser.add_argument("-s", "--steps", default=3000, type=int, help="number of steps")
parser.add_argument("-o", "--output", default="hh_alpha.npz", help="where the results go")
args = parser.parse_args()

G = nx.MultiDiGraph()
neurons = ["neuron_{}".format(i) for i in range(args.number)]
for i, uid in enumerate(neurons):
    G.add_node(
        uid,
        **{
            "class": "HodgkinHuxley2",
            "name": "HodgkinHuxley2",
            "g_K": 36.0,
            "g_Na": 120.0,
            "g_L": 0.3,
            "E_K": -77.0,
            "E_Na": 50.0,
            "E_L": -54.387,
            "initV": -60.0 - i,
        }
    )
for pre in neurons:
    for post in neurons:
        synapse = "synapse_{}_{}".format(pre, post)
        G.add_node(
            synapse,
            **{"class": "AlphaSynapse", "ar": 0.5, "ad": 0.25, "gmax": 0.1, "reverse": -70.0}
        )
        G.add_edge(pre, synapse, delay=0.002)
        G.add_edge(synapse, post)

current = StepInputProcessor("I", neurons, 20.0, 0.0, 1.0)
recorder = OutputRecorder([("spike_state", neurons), ("V", neurons)])
lpu = LPU(
    dt,
    "pickle",
    pickle.dumps(G),
    device=0,
    id="hh",
    input_processors=[current],
    output_processors=[recorder],
    debug=False,
    manager=False,
    print_timing=True,
)
lpu.run(steps=args.steps)

np.savez(
    args.output,
    uids=recorder.output["V"]["uids"],
    V=recorder.output["V"]["data"],
    spike_uids=recorder.output["spike_state"]["uids"],
    time=recorder.output["spike_state"]["data"]["time"],
    index=recorder.output["spike_state"]["data"]["index"],
)
