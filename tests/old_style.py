"""Models as users of the old library wrote them: lists of names and CUDA text, or `run_step`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from neurodriver import Circuit, host_array
from neurodriver.compat.components import (
    BaseAxonHillockModel,
    BaseMembraneModel,
    BaseSynapseModel,
    NDComponent,
)

LEAKY = """
#define EXP exp%(fletter)s
__global__ void update(int num_comps, %(dt)s dt, int steps,
    %(input_I)s *g_I,
    %(param_resting_potential)s *g_rest, %(param_threshold)s *g_threshold,
    %(param_reset_potential)s *g_reset, %(param_capacitance)s *g_capacitance,
    %(param_resistance)s *g_resistance,
    %(internal_internalV)s *g_internalV,
    %(update_spike_state)s *g_spike_state, %(update_V)s *g_V)
{
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    int total = gridDim.x * blockDim.x;
    for (int i = tid; i < num_comps; i += total) {
        %(internal_internalV)s V = g_internalV[i];
        %(input_I)s I = g_I[i];
        %(dt)s b = EXP(-(dt * 1000) / (g_capacitance[i] * g_resistance[i]));
        %(update_spike_state)s spike = 0;
        for (int j = 0; j < steps; ++j) {
            V = V * b + (g_resistance[i] * I + g_rest[i]) * (1 - b);
            if (V >= g_threshold[i]) {
                V = g_reset[i];
                spike = 1;
            }
        }
        g_internalV[i] = V;
        g_spike_state[i] = spike;
        g_V[i] = V;
    }
}
"""


class OldLeaky(BaseAxonHillockModel):
    """LeakyIAF as a template."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = [
        "resting_potential",
        "threshold",
        "reset_potential",
        "capacitance",
        "resistance",
    ]
    extra_params = ["initV"]
    internals = OrderedDict([("internalV", 0.0)])

    @property
    def maximum_dt_allowed(self) -> float:
        return 1e-4

    def pre_run(self, update_pointers: Any) -> None:
        super().pre_run(update_pointers)
        start = "initV" if "initV" in self.params_dict else "resting_potential"
        self.add_initializer(start, "internalV", update_pointers)
        self.add_initializer(start, "V", update_pointers)

    def get_update_template(self) -> str:
        return LEAKY


class OldAlpha(BaseSynapseModel):
    """AlphaSynapse as a template; one component a thread, without a loop over the grid."""

    accesses = ["spike_state"]
    updates = ["g"]
    params = ["gmax", "ar", "ad"]
    internals = OrderedDict([("z", 0.0), ("dz", 0.0), ("d2z", 0.0)])

    @property
    def maximum_dt_allowed(self) -> float:
        return 1e-4

    def get_update_template(self) -> str:
        return """
__device__ %(dt)s rise(%(dt)s z, %(dt)s by) { return fmax%(fletter)s(0, z + by); }

__global__ void update(int num_comps, %(dt)s dt, int steps,
    %(input_spike_state)s *spikes,
    %(param_gmax)s *gmax, %(param_ar)s *ar, %(param_ad)s *ad,
    %(internal_z)s *g_z, %(internal_dz)s *g_dz, %(internal_d2z)s *g_d2z,
    %(update_g)s *g)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;  // 100 %% of them
    if (i >= num_comps) return;
    %(dt)s h = dt * 1000;
    %(internal_z)s z = g_z[i], dz = g_dz[i], d2z = g_d2z[i];
    for (int j = 0; j < steps; ++j) {
        %(internal_z)s z_new = rise(z, h * dz);
        %(internal_dz)s dz_new = dz + h * d2z;
        if (j == 0 && spikes[i] > 0) dz_new += ar[i] * ad[i];
        d2z = -(ar[i] + ad[i]) * dz - ar[i] * ad[i] * z;
        z = z_new;
        dz = dz_new;
    }
    g_z[i] = z; g_dz[i] = dz; g_d2z[i] = d2z;
    g[i] = gmax[i] * z;
}
"""


class OldMorrisLecar(BaseMembraneModel):
    """MorrisLecar as a template."""

    accesses = ["I"]
    updates = ["V"]
    params = ["V1", "V2", "V3", "V4", "phi", "offset", "V_L", "V_Ca", "V_K", "g_L", "g_Ca", "g_K"]
    extra_params = ["initV", "initn"]
    internals = OrderedDict([("internalV", -70.0), ("n", 0.3525)])
    maximum_dt_allowed = 1e-5

    def get_update_template(self) -> str:
        params = ", ".join(f"%(param_{name})s *p_{name}" for name in self.params)
        loads = " ".join(f"const %(dt)s {name} = p_{name}[i];" for name in self.params)
        return (
            "__global__ void update(int num_comps, %(dt)s dt, int steps, %(input_I)s *g_I, "
            + params
            + ", %(internal_internalV)s *g_internalV, %(internal_n)s *g_n, %(update_V)s *g_V)\n{\n"
            "    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < num_comps;\n"
            "         i += gridDim.x * blockDim.x) {\n"
            "        " + loads + "\n"
            "        %(dt)s V = g_internalV[i], n = g_n[i], h = dt * 1000;\n"
            "        for (int j = 0; j < steps; ++j) {\n"
            "            %(dt)s half = 0.5;\n"
            "            %(dt)s n_inf = half * (1 + tanh%(fletter)s((V - V3) / V4));\n"
            "            %(dt)s m_inf = half * (1 + tanh%(fletter)s((V - V1) / V2));\n"
            "            %(dt)s dn = phi * cosh%(fletter)s((V - V3) / (2 * V4)) * (n_inf - n);\n"
            "            %(dt)s dV = g_I[i] - g_L * (V - V_L) - g_K * n * (V - V_K)\n"
            "                - g_Ca * m_inf * (V - V_Ca) + offset;\n"
            "            V += h * dV;\n"
            "            n += h * dn;\n"
            "        }\n"
            "        g_internalV[i] = V; g_n[i] = n; g_V[i] = V;\n"
            "    }\n}\n"
        )


class RawLeaky(NDComponent):
    """LeakyIAF with an ``__init__`` and a ``run_step`` of its own, in numpy."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = OldLeaky.params
    extra_params = ["initV"]

    def __init__(self, params_dict, access_buffers, dt, debug=False, LPU_id=None):  # type: ignore[no-untyped-def]
        self.params_dict = params_dict
        self.access_buffers = access_buffers
        self.given_dt = dt
        self.n = params_dict["threshold"].size
        self.V = np.array(params_dict.get("initV", params_dict["resting_potential"]).get())
        dtype = self.V.dtype
        tau = params_dict["capacitance"] * params_dict["resistance"]
        self.b = np.exp(-dtype.type(dt * 1e3) / tau)

    def pre_run(self, update_pointers: Any) -> None:
        host_array(update_pointers["V"], self.n, self.V.dtype).set(self.V)

    def run_step(self, update_pointers: Any, st: Any = None) -> None:
        p = self.params_dict
        one = self.V.dtype.type(1)
        current = np.array([self.total("I", i) for i in range(self.n)], self.V.dtype)
        drive = p["resistance"] * current + p["resting_potential"]
        V = self.V * self.b + drive * (one - self.b)
        fired = V >= p["threshold"]
        self.V = np.array(np.where(fired, p["reset_potential"], V))
        host_array(update_pointers["V"], self.n, self.V.dtype)[:] = self.V
        host_array(update_pointers["spike_state"], self.n, self.V.dtype)[:] = fired

    def total(self, var: str, i: int) -> Any:
        """Sum the inputs of one component from the addresses alone."""
        p, buffer = self.params_dict, self.access_buffers[var]
        ring = host_array(buffer.gpudata, buffer.ld * buffer.buffer_length, buffer.dtype)
        begin = p["cumpre"][var][i]
        assert p["npre"][var][i] == p["cumpre"][var][i + 1] - begin
        out = buffer.dtype.type(0)
        for j in range(begin, p["cumpre"][var][i + 1]):
            row = (buffer.current - p["conn_data"][var]["delay"][j]) % buffer.buffer_length
            out = out + ring[row * buffer.ld + p["pre"][var][j]]
        return out


class RawAlpha(BaseSynapseModel):
    """AlphaSynapse in numpy, with the helpers of the base class."""

    accesses = ["spike_state"]
    updates = ["g"]
    params = ["gmax", "ar", "ad"]

    def pre_run(self, update_pointers: Any) -> None:
        self.z, self.dz, self.d2z = (np.zeros(self.num_comps, self.dtype) for _ in range(3))

    def run_step(self, update_pointers: Any) -> None:
        p, h = self.params_dict, self.dtype.type(self.dt * 1000)
        self.sum_in_variable("spike_state", self.inputs["spike_state"])
        z, dz, d2z = self.z, self.dz, self.d2z
        kick = p["ar"] * p["ad"]
        self.z = np.maximum(0, z + h * dz)
        self.dz = dz + h * d2z + np.where(self.inputs["spike_state"] > 0, kick, 0)
        self.d2z = -(p["ar"] + p["ad"]) * dz - kick * z
        host_array(update_pointers["g"], self.num_comps, self.dtype)[:] = p["gmax"] * self.z


class RawMorrisLecar(BaseMembraneModel):
    """MorrisLecar in numpy, ten sub-steps a step."""

    params = OldMorrisLecar.params
    internals = OldMorrisLecar.internals

    def run_step(self, update_pointers: Any) -> None:
        self.sum_in_variable("I", self.inputs["I"])
        V, n = self.internal_states["internalV"], self.internal_states["n"]
        p, h = self.params_dict, self.dtype.type(self.dt * 1000 / 10)
        for _ in range(10):
            n_inf = 0.5 * (1 + np.tanh((V - p["V3"]) / p["V4"]))
            m_inf = 0.5 * (1 + np.tanh((V - p["V1"]) / p["V2"]))
            dn = p["phi"] * np.cosh((V - p["V3"]) / (2 * p["V4"])) * (n_inf - n)
            dV = (
                self.inputs["I"]
                - p["g_L"] * (V - p["V_L"])
                - p["g_K"] * n * (V - p["V_K"])
                - p["g_Ca"] * m_inf * (V - p["V_Ca"])
                + p["offset"]
            )
            V += h * dV
            n += h * dn
        host_array(update_pointers["V"], self.num_comps, self.dtype)[:] = V


TEMPLATES = [OldLeaky, OldAlpha, OldMorrisLecar]
RAW = [RawLeaky, RawAlpha, RawMorrisLecar]


def host(*models: type[NDComponent]) -> dict[str, Any]:
    """Return the settings that models of this file need: raw ones read memory of the host."""
    return {"backend": "cpu"} if set(models) & set(RAW) else {}


def with_models(circuit: Circuit, exchange: Mapping[str, type[NDComponent]]) -> Circuit:
    """Return a circuit with other models for some groups and the same names of components."""
    groups = [replace(g, model=exchange.get(g.name, g.model), names=g.uids) for g in circuit.groups]
    return circuit.with_parts(groups, circuit.connections)
