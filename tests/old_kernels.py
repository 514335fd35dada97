"""A file of models as users of the old library wrote them: kernels of their own, through PyCUDA.

They use exact arithmetic only, so a twin that is declared gives the same bits. The kernels have no
barrier.
"""

import numpy as np
from neurokernel.LPU.NDComponents.MembraneModels.BaseMembraneModel import *
from neurokernel.LPU.NDComponents.SynapseModels.BaseSynapseModel import BaseSynapseModel


class Gate(BaseSynapseModel):
    """A trace of its first spikes, halved at each step, times a gain."""

    accesses = ["spike_state"]  # (bool)
    updates = ["I"]
    params = ["gain"]
    extra_params = ["inittrace"]
    internals = OrderedDict([("trace", 0.0)])

    def __init__(self, params_dict, access_buffers, dt, LPU_id=None, debug=False,
                 cuda_verbose=False):
        super(Gate, self).__init__(params_dict, access_buffers, dt, LPU_id=LPU_id, debug=debug,
                                   cuda_verbose=cuda_verbose)
        self.num_comps = params_dict[self.params[0]].size
        self.update = self.get_gate(self.dtype)

    @property
    def maximum_dt_allowed(self):
        return 1e-4

    def pre_run(self, update_pointers):
        super(Gate, self).pre_run(update_pointers)
        self.add_initializer("inittrace", "trace", update_pointers)

    def run_step(self, update_pointers, st=None):
        for k in self.inputs:
            self.retrieve_buffer(k, st=st)
        self.update.prepared_async_call(
            self.update.grid, self.update.block, st, self.num_comps, self.internal_steps,
            self.inputs["spike_state"].gpudata, self.params_dict["gain"].gpudata,
            self.internal_states["trace"].gpudata, update_pointers["I"])

    def get_gate(self, dtype):
        template = """
        __global__ void gate(int num_comps, int nsteps, %(type)s* spikes, %(type)s* gain,
                             %(type)s* trace, %(type)s* I)
        {
            int tid = threadIdx.x + blockIdx.x * blockDim.x;
            int total_threads = gridDim.x * blockDim.x;
            for (int i = tid; i < num_comps; i += total_threads) {
                %(type)s x = trace[i];
                for (int k = 0; k < nsteps; ++k)
                    x = x * (%(type)s)0.5 + (k == 0 && spikes[i] > 0 ? 1 : 0);
                trace[i] = x;
                I[i] = gain[i] * x;
            }
        }
        """
        mod = SourceModule(template % {"type": dtype_to_ctype(dtype)},
                           options=self.compile_options)
        func = mod.get_function("gate")
        func.prepare("iiPPPP")
        func.block = (32, 1, 1)
        func.grid = (min(6 * cuda.Context.get_device().MULTIPROCESSOR_COUNT,
                         (self.num_comps - 1) // 32 + 1), 1)
        return func


class Mean(BaseMembraneModel):
    """An eighth of the sum of delayed potentials, read from the ring itself."""

    accesses = ["V"]
    updates = ["I"]
    params = ["share"]
    internals = []

    @property
    def maximum_dt_allowed(self):
        return self.dt

    def __init__(self, params_dict, access_buffers, dt, debug=False, LPU_id=None,
                 cuda_verbose=True):
        self.params_dict, self.access_buffers, self.dt = params_dict, access_buffers, dt
        self.dtype = params_dict["share"].dtype
        self.last = garray.zeros(params_dict["share"].size, dtype=self.dtype)
        self.kernel = make_mean(self.dtype, self.compile_options)

    def pre_run(self, update_pointers):
        cuda.memcpy_dtod(int(update_pointers["I"]), self.last.gpudata, self.last.nbytes)

    def run_step(self, update_pointers, st=None):
        p, ring = self.params_dict, self.access_buffers["V"]
        self.kernel(
            np.int32(p["share"].size), np.uintp(ring.gpudata), np.int32(ring.ld),
            np.int32(ring.current), np.int32(ring.buffer_length), p["pre"]["V"],
            p["cumpre"]["V"], p["conn_data"]["V"]["delay"], p["share"],
            np.uintp(update_pointers["I"]), block=(64, 1, 1),
            grid=((p["share"].size - 1) // 64 + 1, 1), stream=st)


def make_mean(dtype, options):
    """Compile a kernel."""
    text = """
    __global__ void mean(int n, %(type)s* V, int ld, int current, int length, int* pre,
                         int* cumpre, int* delay, %(type)s* share, %(type)s* I)
    {
        int i = threadIdx.x + blockIdx.x * blockDim.x;
        if (i >= n) return;
        %(type)s total = 0;
        for (int j = cumpre[i]; j < cumpre[i + 1]; ++j) {
            int row = current - delay[j];
            if (row < 0) row += length;
            total = total + V[row * ld + pre[j]];
        }
        I[i] = share[i] * total;
    }
    """
    return SourceModule(text % {"type": dtype_to_ctype(dtype)}, options=options).get_function(
        "mean")


class Watched(BaseMembraneModel):
    """A template whose ``run_step`` does by itself what the base class does, and counts."""

    accesses = ["I"]
    updates = ["V"]
    params = ["start"]
    internals = OrderedDict([("internalV", 0.0)])

    @property
    def maximum_dt_allowed(self):
        return self.dt

    def pre_run(self, update_pointers):
        self.add_initializer("start", "internalV", update_pointers)
        self.add_initializer("start", "V", update_pointers)
        self.done = 0

    def run_step(self, update_pointers, st=None):
        for k in self.inputs:
            self.sum_in_variable(k, self.inputs[k], st=st)
        self.update_func.prepared_async_call(
            self.update_func.grid, self.update_func.block, st,
            self.num_comps, self.internal_dt, self.internal_steps,
            *[self.inputs[k].gpudata for k in self.accesses] +
            [self.params_dict[k].gpudata for k in self.params] +
            [self.internal_states[k].gpudata for k in self.internals] +
            [update_pointers[k] for k in self.updates])
        self.done += 1

    def get_update_template(self):
        return """
        __global__ void update(int num_comps, %(dt)s dt, int nsteps, %(input_I)s* g_I,
                               %(param_start)s* g_start, %(internal_internalV)s* g_internalV,
                               %(update_V)s* g_V)
        {
            int tid = threadIdx.x + blockIdx.x * blockDim.x;
            int total_threads = gridDim.x * blockDim.x;
            for (int i = tid; i < num_comps; i += total_threads) {
                g_internalV[i] = g_internalV[i] * (%(dt)s)0.5 + g_I[i];
                g_V[i] = g_internalV[i];
            }
        }
        """
