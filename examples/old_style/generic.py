#!/usr/bin/env python
"""
Generic LPU in the style of scripts for NeuroDriver: a circuit of sensory, local and projection
neurons is written to a GEXF file, an input to an HDF5 file, then both are run.

python -m neurodriver.compat examples/old_style/generic.py --folder out
"""

import argparse
import os
import random

import h5py
import networkx as nx
import numpy as np
from neurokernel.LPU.InputProcessors.FileInputProcessor import FileInputProcessor
from neurokernel.LPU.LPU import LPU
from neurokernel.LPU.OutputProcessors.FileOutputProcessor import FileOutputProcessor
from neurokernel.tools.logging import setup_logger

dt = 1e-4
dur = 0.2
steps = int(round(dur / dt))

SPIKING = {
    "class": "LeakyIAF",
    "resting_potential": -70.0,
    "threshold": -45.0,
    "reset_potential": -65.0,
    "capacitance": 2.0,
    "resistance": 10.0,
}
GRADED = {
    "class": "MorrisLecar",
    "V1": -20.0,
    "V2": 50.0,
    "V3": -40.0,
    "V4": 20.0,
    "phi": 0.001,
    "offset": 0.0,
    "V_L": -40.0,
    "V_Ca": 120.0,
    "V_K": -80.0,
    "g_L": 3.0,
    "g_Ca": 4.0,
    "g_K": 16.0,
}
ALPHA = {"class": "AlphaSynapse", "ar": 1.1 * 1e-1, "ad": 1.9 * 1e-1, "gmax": 0.01, "reverse": 65.0}
POWER = {
    "class": "PowerGPotGPot",
    "threshold": -55.0,
    "slope": 0.02,
    "power": 1.0,
    "saturation": 0.4,
    "reverse": 0.0,
}


def neuron(number, total):
    """The first half of a kind spikes, the second half is graded."""
    if number < (total + 1) // 2:
        return dict(SPIKING, initV=random.uniform(-70.0, -55.0))
    return dict(GRADED, initV=random.uniform(-50.0, -40.0), initn=0.3525)


def create_in_ports(G, lpu_name, N_local):
    """Spikes from outside reach every local neuron through a synapse of its own."""
    for i in range(N_local):
        name, uid = "in_port%s" % i, "local_%s" % i
        G.add_node(
            name,
            **{
                "class": "Port",
                "name": name,
                "port_type": "spike",
                "port_io": "in",
                "selector": "/%s/in/spk/%s" % (lpu_name, i),
            }
        )
        synapse = "synapse_%s_to_%s" % (name, uid)
        G.add_node(synapse, name=synapse, **ALPHA)
        G.add_edge(name, synapse)
        G.add_edge(synapse, uid)


def create_lpu(file_name, lpu_name, N_sensory, N_local, N_proj):
    """Write a circuit of three layers, with ports for what comes in and goes out."""
    numbers = [("sensory", N_sensory), ("local", N_local), ("proj", N_proj)]
    G = nx.MultiDiGraph()
    out_spk = out_gpot = 0

    for kind, total in numbers:
        for i in range(total):
            name = "%s_%s" % (kind, i)
            if kind == "local":
                data = dict(SPIKING, initV=random.uniform(-70.0, -55.0))
            else:
                data = neuron(i, total)
            G.add_node(name, name=name, **data)
            if kind != "proj":
                continue
            port = name + "_port"
            if data["class"] == "LeakyIAF":
                selector = "/%s/out/spk/%s" % (lpu_name, out_spk)
                port_type, variable = "spike", "spike_state"
                out_spk += 1
            else:
                selector = "/%s/out/gpot/%s" % (lpu_name, out_gpot)
                port_type, variable = "gpot", "V"
                out_gpot += 1
            G.add_node(
                port,
                **{
                    "class": "Port",
                    "name": port,
                    "port_type": port_type,
                    "port_io": "out",
                    "selector": selector,
                }
            )
            G.add_edge(name, port, variable=variable)

    create_in_ports(G, lpu_name, N_local)

    for (pre, n_pre), (post, n_post) in zip(numbers, numbers[1:]):
        for i in range(n_pre):
            for j in range(n_post):
                if random.random() > 0.5:
                    continue
                a, b = "%s_%s" % (pre, i), "%s_%s" % (post, j)
                name = "synapse_" + a + "-" + b
                if G.nodes[a]["class"] == "LeakyIAF":
                    G.add_node(name, name=name, **ALPHA)
                    G.add_edge(a, name)
                else:
                    G.add_node(name, name=name, **POWER)
                    G.add_edge(a, name, delay=0.001)
                G.add_edge(name, b)

    nx.write_gexf(G, file_name)


def create_input(file_name, N_sensory, dt=1e-4, dur=1.0, start=0.3, stop=0.6, I_max=0.6):
    """Write a current that is I_max from start to stop for all sensory neurons."""
    t = np.arange(0, dur, dt)
    current = np.zeros((len(t), N_sensory), dtype=np.double)
    current[np.logical_and(t > start, t < stop)] = I_max
    uids = np.array(["sensory_" + str(i) for i in range(N_sensory)], dtype="S")
    with h5py.File(file_name, "w") as f:
        f.create_dataset("I/uids", data=uids)
        f.create_dataset("I/data", (len(t), N_sensory), dtype=np.double, data=current)


parser = argparse.ArgumentParser()
parser.add_argument("-f", "--folder", default="out", help="where the files go")
parser.add_argument("-l", "--log", default="none", help="none, screen, file or both")
parser.add_argument("-s", "--steps", default=steps, type=int, help="number of steps")
parser.add_argument("-g", "--gpu_dev", default=0, type=int, help="GPU device number")
args = parser.parse_args()

setup_logger(
    file_name="neurokernel.log" if args.log in ("file", "both") else None,
    screen=args.log in ("screen", "both"),
)
if not os.path.isdir(args.folder):
    os.makedirs(args.folder)
lpu_file = os.path.join(args.folder, "generic_lpu.gexf.gz")
in_file = os.path.join(args.folder, "generic_input.h5")
out_file = os.path.join(args.folder, "generic_output.h5")

random.seed(0)
create_lpu(lpu_file, "lpu_0", 10, 8, 6)
create_input(in_file, 10, dt, dur, start=0.05, stop=0.15, I_max=12.0)

(comp_dict, conns) = LPU.lpu_parser(lpu_file)
fl_input_processor = FileInputProcessor(in_file)
fl_output_processor = FileOutputProcessor([("V", None), ("spike_state", None)], out_file)
lpu = LPU(
    dt,
    comp_dict,
    conns,
    device=args.gpu_dev,
    input_processors=[fl_input_processor],
    output_processors=[fl_output_processor],
    id="lpu_0",
    manager=False,
    debug=False,
)
lpu.run(steps=args.steps)
