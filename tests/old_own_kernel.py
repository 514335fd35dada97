"""A model as users of FlyBrainLab write it: text, kernel and calls of its own, no base class."""

from collections import OrderedDict

import numpy as np
import pycuda.driver as cuda
import pycuda.gpuarray as garray
from neurokernel.LPU.NDComponents.NDComponent import NDComponent
from pycuda.tools import dtype_to_ctype

TEXT = """
__global__ void Rectified(int num_thread, double dt, double* g_state_r, double* g_param_threshold,
                          double* g_input_I, double* g_output_r)
{
    int total_threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < num_thread; i += total_threads) {
        g_state_r[i] = g_state_r[i] / 2 + (g_input_I[i] > g_param_threshold[i]) * g_input_I[i];
        g_output_r[i] = g_state_r[i] + dt;
    }
}
"""


class Rectified(NDComponent):
    """Half of its last value, and the current where that is above a threshold."""

    accesses = ["I"]
    updates = ["r"]
    params = ["threshold"]
    internals = OrderedDict([("r", 0.25)])

    def maximum_dt_allowed(self):
        return np.inf

    def __init__(
        self, params_dict, access_buffers, dt, LPU_id=None, debug=False, cuda_verbose=False
    ):
        self.num_comps = params_dict[self.params[0]].size
        self.dtype = params_dict[self.params[0]].dtype
        self.dt, self.params_dict, self.access_buffers = dt, params_dict, access_buffers
        self.internal_states = {
            c: garray.zeros(self.num_comps, dtype=self.dtype) + self.internals[c]
            for c in self.internals
        }
        self.inputs = {
            k: garray.empty(self.num_comps, dtype=self.access_buffers[k].dtype)
            for k in self.accesses
        }
        self.update_func = self.get_update_func({"dt": self.dtype})

    def run_step(self, update_pointers, st=None):
        for k in self.inputs:
            self.sum_in_variable(k, self.inputs[k], st=st)
        self.update_func.prepared_async_call(
            self.update_func.grid,
            self.update_func.block,
            st,
            self.num_comps,
            self.dt,
            *[self.internal_states[k].gpudata for k in self.internals]
            + [self.params_dict[k].gpudata for k in self.params]
            + [self.inputs[k].gpudata for k in self.accesses]
            + [update_pointers[k] for k in self.updates],
        )

    def get_update_template(self, float_type):
        assert float_type == np.float64
        return TEXT

    def get_update_func(self, dtypes):
        from pycuda.compiler import SourceModule

        assert dtype_to_ctype(dtypes["dt"]) == "double"
        func = SourceModule(self.get_update_template(self.dtype)).get_function("Rectified")
        func.prepare("i" + np.dtype(self.dtype).char + "PPPP")
        func.block = (256, 1, 1)
        func.grid = (
            min(
                6 * cuda.Context.get_device().MULTIPROCESSOR_COUNT, (self.num_comps - 1) // 256 + 1
            ),
            1,
        )
        return func
