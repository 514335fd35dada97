#!/usr/bin/env python
"""
A model of one's own in the style of NeuroDriver: a subclass that returns the text of a CUDA
kernel. The neuron is the quadratic integrate-and-fire neuron (Ermentrout and Kopell, SIAM Journal
on Applied Mathematics 46, 233-253, 1986, doi:10.1137/0146017).

python -m neurodriver.compat examples/old_style/custom_model.py out/custom_model.h5
"""

import sys

import networkx as nx
import numpy as np
from neurokernel.LPU.InputProcessors.StepInputProcessor import StepInputProcessor
from neurokernel.LPU.LPU import LPU
from neurokernel.LPU.NDComponents.AxonHillockModels.BaseAxonHillockModel import *
from neurokernel.LPU.OutputProcessors.FileOutputProcessor import FileOutputProcessor


class QuadraticIAF(BaseAxonHillockModel):
    updates = ["spike_state", "V"]
    accesses = ["I"]
    params = ["resting_potential", "critical_potential", "threshold", "reset_potential", "gain", "capacitance"]
    extra_params = ["initV"]
    internals = OrderedDict([("internalV", -65.0)])

    @property
    def maximum_dt_allowed(self):
        return 5e-5

    def pre_run(self, update_pointers):
        super(QuadraticIAF, self).pre_run(update_pointers)
        self.add_initializer("initV", "internalV", update_pointers)
        self.add_initializer("initV", "V", update_pointers)

    def get_update_template(self):
        return """
__global__ void update(
    int num_comps,
    %(dt)s dt,
    int n_steps,
    %(input_I)s* g_I,
    %(param_resting_potential)s* g_rest,
    %(param_critical_potential)s* g_critical,
    %(param_threshold)s* g_threshold,
    %(param_reset_potential)s* g_reset,
    %(param_gain)s* g_gain,
    %(param_capacitance)s* g_capacitance,
    %(internal_internalV)s* g_internalV,
    %(update_spike_state)s* g_spike_state,
    %(update_V)s* g_V)
{
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    int total_threads = gridDim.x * blockDim.x;
    %(dt)s h = dt * 1000.; // s to ms

    for (int i = tid; i < num_comps; i += total_threads) {
        %(internal_internalV)s V = g_internalV[i];
        %(input_I)s I = g_I[i];
        %(update_spike_state)s spike = 0;
        for (int k = 0; k < n_steps; ++k) {
            V = V + h * (g_gain[i] * (V - g_rest[i]) * (V - g_critical[i]) + I) / g_capacitance[i];
            if (V >= g_threshold[i]) {
                V = g_reset[i];
                spike = 1;
            }
        }
        g_internalV[i] = V;
        g_V[i] = V;
        g_spike_state[i] = spike;
    }
}
"""


if __name__ == "__main__":
    dt = 1e-4
    steps = 2000
    out_file = sys.argv[1] if len(sys.argv) > 1 else "custom_model.h5"

    G = nx.MultiDiGraph()
    for i in range(20):
        G.add_node(
            "neuron%s" % i,
            **{
                "class": "QuadraticIAF",
                "name": "neuron%s" % i,
                "initV": -65.0 + i,
                "resting_potential": -65.0,
                "critical_potential": -50.0,
                "threshold": 20.0,
                "reset_potential": -70.0,
                "gain": 0.04,
                "capacitance": 1.0 + 0.1 * i,
            }
        )

    uids = ["neuron%s" % i for i in range(20)]
    pulse = StepInputProcessor("I", uids, 5.0, 0.02, 0.15)
    record = FileOutputProcessor([("V", uids), ("spike_state", uids)], out_file)
    lpu = LPU(
        dt,
        "obj",
        G,
        device=0,
        id="custom",
        input_processors=[pulse],
        output_processors=[record],
        extra_comps=[QuadraticIAF],
        manager=False,
    )
    lpu.run(steps=steps)
