"""Models of a user: declared, in the old style with a kernel as text, and with a ``run_step``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

import neurodriver as nd

from .case import COUNT, DT, Case, How, Values, drawn, named, simulated
from .models import ALPHA, IAF
from .names import old
from .networks import ALL, current

NAMES = named("n", COUNT)


class Resonator(nd.NDComponent):
    """A neuron that resonates, with noise, two receptors and sub-steps."""

    accesses = (
        "I",
        nd.Weighted("spike_state", receptor="fast"),
        nd.Weighted("spike_state", receptor="slow"),
    )
    updates = ("spike_state", "V")
    params = {
        "tau": nd.Parameter("ms", default=5.0, above=0.0, doc="time constant"),
        "pull": nd.Parameter("1/ms", default=0.2, doc="strength of the slow variable"),
        "noise": nd.Parameter("mV/ms^0.5", default=0.5, at_least=0.0, doc="intensity"),
    }
    states = {
        "V": nd.State("mV", 0.0, doc="potential"),
        "w": nd.State("mV", 0.0, doc="slow variable"),
        "trace": nd.State("mV", 0.0, doc="trace of slow spikes"),
    }
    constants = {"decay": "exp(-dt_ms / tau)", "spread": "noise * sqrt(dt_ms)"}
    terms = {"rate": "1 / (1 + exp(-0.3 * (V - 8)))"}
    maximum_dt = 5e-5
    update = """
        bool last = substep == substeps - 1;
        trace = trace * 0.97 + (last ? slow : 0);
        w += dt_ms * pull * (V - w);
        V = V * decay + dt_ms * (I - 1 * w + 0.1 * trace) + spread * normal() + (last ? fast : 0);
        if (last && uniform() < 0.2 * rate) {
            V -= 8;
            spike_state = 1;
        }
    """


LEAKY = """
__global__ void update(int num_comps, %(dt)s dt, int steps, %(input_I)s *g_I,
    %(param_resting_potential)s *g_rest, %(param_threshold)s *g_threshold,
    %(param_reset_potential)s *g_reset, %(param_capacitance)s *g_capacitance,
    %(param_resistance)s *g_resistance, %(internal_V)s *g_internal,
    %(update_spike_state)s *g_spike_state, %(update_V)s *g_V)
{
    int total = gridDim.x * blockDim.x;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < num_comps; i += total) {
        %(dt)s V = g_internal[i];
        %(dt)s decay = exp%(fletter)s(-(dt * 1000) / (g_capacitance[i] * g_resistance[i]));
        %(dt)s spike = 0;
        for (int j = 0; j < steps; ++j) {
            V = V * decay + (g_resistance[i] * g_I[i] + g_rest[i]) * (1 - decay);
            if (V >= g_threshold[i]) {
                V = g_reset[i];
                spike = 1;
            }
        }
        g_internal[i] = V;
        g_spike_state[i] = spike;
        g_V[i] = V;
    }
}
"""

DECAYING = """
__global__ void update(int num_comps, %(dt)s dt, int steps, %(input_spike_state)s *spikes,
    %(param_gmax)s *gmax, %(param_ar)s *ar, %(param_ad)s *ad, %(internal_s)s *g_s, %(update_g)s *g)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= num_comps) return;
    g_s[i] = g_s[i] * (1 - dt * 1000 * ad[i]) + ar[i] * spikes[i];
    g[i] = gmax[i] * g_s[i];
}
"""


class TemplateNeuron(old.BaseAxonHillockModel):
    """A leaky integrate-and-fire neuron as a template."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = ["resting_potential", "threshold", "reset_potential", "capacitance", "resistance"]
    extra_params = ["initV"]
    internals = {"V": -65.0}
    maximum_dt_allowed = 5e-5

    def get_update_template(self) -> str:
        return LEAKY


class TemplateSynapse(old.BaseSynapseModel):
    """A decaying conductance as a template."""

    accesses = ["spike_state"]
    updates = ["g"]
    params = ["gmax", "ar", "ad"]
    internals = {"s": 0.0}

    def get_update_template(self) -> str:
        return DECAYING


class RawNeuron(old.BaseAxonHillockModel):
    """A leaky integrate-and-fire neuron in numpy, explicit Euler."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = TemplateNeuron.params

    def pre_run(self, update_pointers: Any) -> None:
        self.V = np.linspace(-70.0, -60.0, self.num_comps).astype(self.dtype)

    def run_step(self, update_pointers: Any) -> None:
        p, h = self.params_dict, self.dtype.type(self.dt * 1000)
        self.sum_in_variable("I", self.inputs["I"])
        slope = (p["resting_potential"] - self.V) / p["resistance"] + self.inputs["I"]
        V = self.V + h * slope / p["capacitance"]
        fired = V >= p["threshold"]
        self.V = np.where(fired, p["reset_potential"], V).astype(self.dtype)
        for variable, values in (("V", self.V), ("spike_state", fired)):
            nd.host_array(update_pointers[variable], self.num_comps, self.dtype)[:] = values


class RawSynapse(old.BaseSynapseModel):
    """A decaying conductance in numpy."""

    accesses = ["spike_state"]
    updates = ["g"]
    params = TemplateSynapse.params

    def pre_run(self, update_pointers: Any) -> None:
        self.s = np.zeros(self.num_comps, self.dtype)

    def run_step(self, update_pointers: Any) -> None:
        p, h = self.params_dict, self.dtype.type(self.dt * 1000)
        self.sum_in_variable("spike_state", self.inputs["spike_state"])
        self.s = self.s * (1 - h * p["ad"]) + p["ar"] * self.inputs["spike_state"]
        out = nd.host_array(update_pointers["g"], self.num_comps, self.dtype)
        out[:] = p["gmax"] * self.s


def network(neuron: str, synapse: str) -> nx.MultiDiGraph:
    """Return a graph of neurons with delayed synapses."""
    rng, graph = np.random.default_rng(61), nx.MultiDiGraph()
    cells, alpha = drawn(rng, IAF, COUNT), drawn(rng, ALPHA, 2 * COUNT)
    del cells["initV"]
    for i, uid in enumerate(NAMES):
        given = {k: float(np.broadcast_to(v, COUNT)[i]) for k, v in cells.items()}
        graph.add_node(uid, **{"class": neuron}, **given)
    for i in range(2 * COUNT):
        given = {k: float(v[i]) for k, v in alpha.items()}
        graph.add_node(f"s_{i}", **{"class": synapse}, **given, reverse=float(-80 * (i % 5 == 0)))
        source, target = (NAMES[j] for j in rng.integers(0, COUNT, 2))
        graph.add_edge(source, f"s_{i}", delay=float(rng.integers(1, 9)) * DT)
        graph.add_edge(f"s_{i}", target)
    return graph


def of_own(neuron: str, synapse: str, options: dict[str, Any], how: How) -> Values:
    """Run a network of own models and shipped ones."""
    models = [TemplateNeuron, TemplateSynapse, RawNeuron, RawSynapse]
    inputs = current(NAMES, 2.0, 6.0)
    graph = network(neuron, synapse)
    return simulated(how, graph, inputs, ALL, models=models, steps=120, **options)


def declared(options: dict[str, Any], how: How) -> Values:
    """Run a network of a declared model."""
    rng, every = np.random.default_rng(62), range(COUNT)
    params = {"tau": rng.uniform(4.0, 8.0, COUNT), "initV": rng.uniform(0.0, 8.0, COUNT)}
    links = [
        nd.Projection("spike_state", "fast", every, every, nd.FixedInDegree(6),
                      nd.Uniform(-1.0, 1.0), nd.Uniform(1.5 * DT, 12.5 * DT)),
        nd.Projection("spike_state", "slow", every, every, nd.FixedProbability(0.02),
                      nd.Normal(1.0, 0.3), nd.Uniform(1.5 * DT, 12.5 * DT)),
    ]  # fmt: skip
    circuit = nd.Circuit.from_arrays([(Resonator, COUNT, params, NAMES)], links, seed=63)
    inputs = current(NAMES, 0.0, 4.0)
    return simulated(how, circuit, inputs, seed=64, **options)


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    off: dict[str, Any] = {"plans": False}
    yield Case("declared model", partial(declared, {}))
    yield Case("declared model, no plans", partial(declared, off))
    for neuron in ("TemplateNeuron", "LeakyIAF", "RawNeuron"):
        for synapse in ("TemplateSynapse", "AlphaSynapse", "RawSynapse"):
            if neuron == "LeakyIAF" and synapse == "AlphaSynapse":
                continue
            host = "Raw" in neuron + synapse
            yield Case(f"own {neuron}, {synapse}", partial(of_own, neuron, synapse, {}), host)
    run = partial(of_own, "TemplateNeuron", "TemplateSynapse", off)
    yield Case("own TemplateNeuron, TemplateSynapse, no plans", run)
