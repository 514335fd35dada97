#!/usr/bin/env python

"""
Two LPUs, each with one spiking neuron that excites the neuron of the other one.

Written for Neurokernel; run it with ``python -m neurodriver.compat two_lpus.py``, alone or with
``mpiexec -n 2`` before it.
"""

import argparse

import h5py
import networkx as nx

import neurokernel.mpi_relaunch
from neurokernel.core_gpu import Manager
from neurokernel.LPU.InputProcessors.StepInputProcessor import StepInputProcessor
from neurokernel.LPU.LPU import LPU
from neurokernel.LPU.OutputProcessors.FileOutputProcessor import FileOutputProcessor
from neurokernel.pattern import Pattern
from neurokernel.plsel import Selector
from neurokernel.tools.logging import setup_logger

parser = argparse.ArgumentParser()
parser.add_argument('-s', '--steps', default=2000, type=int)
parser.add_argument('-o', '--output', default='two_lpus', type=str)
args = parser.parse_args()

setup_logger(screen=False)

dt = 1e-4
neuron = {'class': 'LeakyIAF', 'initV': -65.0, 'resting_potential': -70.0,
          'reset_potential': -70.0, 'threshold': -45.0, 'capacitance': 2.0, 'resistance': 10.0}
synapse = {'class': 'AlphaSynapse', 'ar': 0.11, 'ad': 0.19, 'gmax': 0.05, 'reverse': 65.0}


def make_lpu(name):
    G = nx.MultiDiGraph()
    G.add_node('neuron', **neuron)
    G.add_node('synapse', **synapse)
    G.add_node('in', **{'class': 'Port', 'selector': '/%s/in/spk/0' % name,
                        'port_type': 'spike', 'port_io': 'in'})
    G.add_node('out', **{'class': 'Port', 'selector': '/%s/out/spk/0' % name,
                         'port_type': 'spike', 'port_io': 'out'})
    G.add_edge('in', 'synapse')
    G.add_edge('synapse', 'neuron')
    G.add_edge('neuron', 'out')
    nx.write_gexf(G, '%s_%s.gexf.gz' % (args.output, name))


man = Manager()
for name, current in [('left', 4.0), ('right', 2.4)]:
    make_lpu(name)
    file_name = '%s_%s.gexf.gz' % (args.output, name)
    comp_dict, conns = LPU.lpu_parser(file_name)
    inputs = StepInputProcessor('I', ['neuron'], current, 0.02, 0.15)
    output = FileOutputProcessor([('V', None), ('spike_state', ['neuron'])],
                                 '%s_%s.h5' % (args.output, name))
    man.add(LPU, name, dt, comp_dict, conns, device=0,
            input_processors=[inputs], output_processors=[output])

left = Selector('/left/in/spk/0,/left/out/spk/0')
right = Selector('/right/in/spk/0,/right/out/spk/0')
pat = Pattern(left, right)
pat['/left/out/spk/0', '/right/in/spk/0'] = 1
pat['/right/out/spk/0', '/left/in/spk/0'] = 1
pat.interface['/left/out/spk/0', 'type'] = 'spike'
pat.interface['/right/in/spk/0', 'type'] = 'spike'
pat.interface['/right/out/spk/0', 'type'] = 'spike'
pat.interface['/left/in/spk/0', 'type'] = 'spike'
man.connect('left', 'right', pat, 0, 1)

man.spawn()
man.start(steps=args.steps)
man.wait()

for name in ['left', 'right']:
    with h5py.File('%s_%s.h5' % (args.output, name), 'r') as f:
        print('%s: %d spikes' % (name, len(f['spike_state/data/time'])))
