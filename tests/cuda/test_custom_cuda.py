"""Models of one's own on a GPU: templates, and raw classes with kernels of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from old_style import OldAlpha, OldLeaky, OldMorrisLecar, with_models
from support import (
    ALPHA,
    AMPA,
    IAF,
    ML,
    Recorded,
    assert_same_bits,
    build,
    model,
    node,
    recorded,
    simulate,
    spike_rows,
    spiking_network,
    started,
)

from neurodriver import ArrayInput, Circuit, RampInput, StepInput, host_array
from neurodriver.backends.cuda.backend import CUDABackend
from neurodriver.backends.tables import Probe
from neurodriver.compat.components import BaseAxonHillockModel, BaseSynapseModel
from neurodriver.errors import ModelError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

TEMPLATES = {"LeakyIAF": OldLeaky, "AlphaSynapse": OldAlpha}
EVERYTHING = [("V", None), ("spike_state", None), ("g", None)]

C_TYPE = {"float64": "double", "float32": "float"}


def compiled(text: str) -> Any:
    """Return the kernel `k` of a text, as a user's class gets it from PyCUDA."""
    from pycuda.compiler import SourceModule

    return SourceModule(text, options=["--fmad=false"]).get_function("k")


class DeviceLeaky(BaseAxonHillockModel):
    """LeakyIAF with `exp(-dt / RC)` from numpy and a kernel of its own, which reads rings."""

    backends = ("cuda",)
    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = OldLeaky.params
    extra_params = ["initV"]

    TEXT = """
    extern "C" __global__ void k(int n, const real *b, const real *R, const real *rest,
        const real *threshold, const real *reset, const real *ring, long long ld, int current,
        int length, const int *pre, const int *cumpre, const int *delay, real *state,
        real *spike, real *V)
    {
        for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x) {
            real I = 0;
            for (int j = cumpre[i]; j < cumpre[i + 1]; ++j) {
                int row = (current - delay[j] + length) % length;
                I = I + ring[row * ld + pre[j]];
            }
            real v = state[i] * b[i] + (R[i] * I + rest[i]) * (1 - b[i]);
            bool fired = v >= threshold[i];
            v = fired ? reset[i] : v;
            state[i] = v; V[i] = v; spike[i] = fired;
        }
    }
    """

    def __init__(self, params_dict, access_buffers, dt, LPU_id=None, debug=False):  # type: ignore[no-untyped-def]
        from pycuda.gpuarray import to_gpu

        self.p, self.buffer = params_dict, access_buffers["I"]
        dtype = self.buffer.dtype
        tau = params_dict["capacitance"].get() * params_dict["resistance"].get()
        self.b = to_gpu(np.exp(-dtype.type(dt * 1e3) / tau).astype(dtype))
        start = params_dict.get("initV", params_dict["resting_potential"])
        self.state = start.copy()
        self.kernel = compiled(self.TEXT.replace("real", C_TYPE[dtype.name]))

    def pre_run(self, update_pointers: Any) -> None:
        import pycuda.driver as cuda

        cuda.memcpy_dtod(update_pointers["V"], self.state.gpudata, self.state.nbytes)

    def run_step(self, update_pointers: Any, st: Any = None) -> None:
        p, ring = self.p, self.buffer
        names = ("resistance", "resting_potential", "threshold", "reset_potential")
        self.kernel(
            np.int32(self.num_comps), self.b, *[p[name] for name in names],
            np.uintp(ring.gpudata), np.int64(ring.ld), np.int32(ring.current),
            np.int32(ring.buffer_length), p["pre"]["I"], p["cumpre"]["I"],
            p["conn_data"]["I"]["delay"], self.state, update_pointers["spike_state"],
            np.uintp(update_pointers["V"]), grid=(3, 1), block=(64, 1, 1),
        )  # fmt: skip


class DeviceAlpha(BaseSynapseModel):
    """AlphaSynapse, with the helpers of the base class and internal states."""

    backends = ("cuda",)
    accesses = ["spike_state"]
    updates = ["g"]
    params = ["gmax", "ar", "ad"]
    internals = {"z": 0.0, "dz": 0.0, "d2z": 0.0}

    TEXT = """
    extern "C" __global__ void k(int n, real h, const real *spikes, const real *gmax,
        const real *ar, const real *ad, real *z, real *dz, real *d2z, real *g)
    {
        int i = threadIdx.x + blockIdx.x * blockDim.x;
        if (i >= n) return;
        real kick = ar[i] * ad[i], rise = z[i] + h * dz[i];
        real dz_new = dz[i] + h * d2z[i] + (spikes[i] > 0 ? kick : 0);
        d2z[i] = -(ar[i] + ad[i]) * dz[i] - kick * z[i];
        z[i] = rise > 0 ? rise : 0; dz[i] = dz_new;
        g[i] = gmax[i] * z[i];
    }
    """

    def pre_run(self, update_pointers: Any) -> None:
        self.kernel = compiled(self.TEXT.replace("real", C_TYPE[self.dtype.name]))

    def run_step(self, update_pointers: Any) -> None:
        import pycuda.driver as cuda

        self.sum_in_variable("spike_state", self.inputs["spike_state"])
        stream = cuda.Stream()  # whatever stream: the step waits for it
        self.kernel(
            np.int32(self.num_comps), self.dtype.type(self.dt * 1000), self.inputs["spike_state"],
            *[self.params_dict[p] for p in self.params], *self.internal_states.values(),
            np.uintp(update_pointers["g"]), block=(128, 1, 1),
            grid=(-(-self.num_comps // 128), 1), stream=stream,
        )  # fmt: skip


RAW = {"LeakyIAF": DeviceLeaky, "AlphaSynapse": DeviceAlpha}


def network(neurons: int, delay: float | None) -> Circuit:
    """Return neurons with synapses; with one ``delay`` their silent rows are not read."""
    circuit = spiking_network(neurons, 3, seed=5, alpha=0.5)
    links = list(circuit.connections)
    if delay is not None:
        equal = np.asarray(delay)
        links = [replace(c, delay=equal) if c.variable == "spike_state" else c for c in links]
    return circuit.with_parts(circuit.groups, links)


def run_network(circuit: Circuit, steps: int, **settings: Any) -> Recorded:
    """Return everything that happens in a network with constant currents."""
    rng = np.random.default_rng(3)
    uids = circuit.groups[0].uids.tolist()
    current = ArrayInput({"I": (uids, rng.uniform(1.0, 3.0, (1, len(uids))))}, mode=1)
    with started(circuit, 1e-4, current, EVERYTHING, **settings) as lpu:
        lpu.run(steps=steps)
        return recorded(lpu, steps)


@pytest.mark.parametrize("neurons", [40, 700, 9000], ids=["block", "cluster", "grid"])
@pytest.mark.parametrize("delay", [None, 3e-4])
def test_a_network_of_templates(
    neurons: int, delay: float | None, executor: str, dtype: str
) -> None:
    """The bits of the CPU, with delays and several inputs, however wide it runs."""
    circuit = with_models(network(neurons, delay), TEMPLATES)
    expected = run_network(circuit, 150, dtype=dtype, backend="cpu")
    assert expected["spike_state"].sum() > 10
    for chunk in (150, 7):
        found = run_network(
            circuit, 150, dtype=dtype, backend="cuda", executor=executor, chunk=chunk
        )
        assert_same_bits(found, expected)


def test_a_template_with_sub_steps(executor: str, dtype: str) -> None:
    """Ten sub-steps a step, with tanh and cosh."""
    given = {**ML, "initV": np.linspace(-70, -50, 37)}
    circuit = Circuit.from_arrays([(OldMorrisLecar, 37, given, None)])
    ramp = RampInput("I", circuit.uids, 0.0, 0.05, 0.0, 10.0)
    expected, found = (
        simulate(circuit, 1e-4, 300, ramp, dtype=dtype, **where)
        for where in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor})
    )
    assert_same_bits(expected, found)


@pytest.mark.needs("PyCUDA")
@pytest.mark.parametrize("delay", [None, 3e-4])
def test_raw_classes_with_kernels_of_their_own(
    delay: float | None, executor: str, dtype: str
) -> None:
    """Real addresses, delays, events that compiled synapses read; mixed with other models.

    numpy's exp may differ in its last place, so raw neurons are close, and raw synapses are equal.
    """
    circuit = network(333, delay)
    expected = run_network(circuit, 100, dtype=dtype, backend="cpu", merge=False)
    assert expected["spike_state"].sum() > 10
    where = {"backend": "cuda", "executor": executor, "dtype": dtype, "merge": False}
    synapses = run_network(with_models(circuit, {"AlphaSynapse": DeviceAlpha}), 100, **where)
    assert_same_bits(synapses, expected)
    if dtype == "float64":
        for exchange in (RAW, {"LeakyIAF": DeviceLeaky}, {**RAW, "AlphaSynapse": OldAlpha}):
            found = run_network(with_models(circuit, exchange), 100, **where)
            assert np.array_equal(found["spike_state"], expected["spike_state"])
            for variable in ("V", "g"):
                np.testing.assert_allclose(
                    found[variable], expected[variable], rtol=1e-9, atol=1e-12
                )


@pytest.mark.needs("PyCUDA")
def test_what_a_raw_class_is_given(dtype: str) -> None:
    """Arrays of PyCUDA in the working type, addresses, buffers, first inputs and weights."""
    seen: dict[str, Any] = {}

    class Witness(BaseSynapseModel):
        """Keeps what it is given and copies its first input."""

        backends = ("cuda",)
        accesses = ["V"]
        updates = ["g"]
        params = ["gmax", "levels"]
        int_params = ["levels"]

        def pre_run(self, update_pointers: Any) -> None:
            self.add_initializer("gmax", "g", update_pointers)
            seen["ring"] = self.access_buffers["V"]

        def run_step(self, update_pointers: Any) -> None:
            self.retrieve_buffer("V")
            seen.setdefault("rows", []).append(self.access_buffers["V"].current)
            seen["self"], seen["inputs"] = self, self.inputs["V"].get()
            self._link.store(update_pointers["g"], self.inputs["V"])

    nodes = {"a": node("LeakyIAF", IAF, initV=-61.0), "b": node("LeakyIAF", IAF, initV=-62.0)}
    nodes |= {"w": node("Witness", {"gmax": 1.5, "levels": 3}),
              "x": node("Witness", {"gmax": 2.5, "levels": 4})}  # fmt: skip
    edges = [("a", "w", {"variable": "V", "delay": 3e-4}), ("b", "w", {"variable": "V"})]
    record = [("g", ["w", "x"]), ("V", ["a"])]
    circuit = build(nodes, edges, [Witness])
    data = simulate(circuit, 1e-4, 6, (), record, backend="cuda", dtype=dtype)
    params = seen["self"].params_dict
    assert type(params["gmax"]).__module__ == "pycuda.gpuarray"
    assert params["gmax"].dtype == dtype and params["levels"].dtype == np.int32
    assert seen["rows"] == [0, 1, 2, 3, 0, 1] and seen["ring"].buffer_length == 4
    assert isinstance(seen["ring"].gpudata, int) and seen["ring"].dtype == dtype
    assert data["g"][0].tolist() == [1.5, 2.5]
    np.testing.assert_array_equal(data["g"][1:, 0], data["V"][[0, 0, 0, 1, 2], 0])
    assert not data["g"][1:, 1].any() and not seen["inputs"][1]


@pytest.mark.needs("PyCUDA")
def test_run_step_around_a_kernel(executor: str) -> None:
    """`super().run_step` launches the kernel: of a template, and of a shipped model."""
    import pycuda.driver as cuda

    calls: list[int] = []

    def run_step(self: Any, update_pointers: Any) -> None:
        super(type(self), self).run_step(update_pointers)
        calls.append(1)
        if len(calls) % 50 == 49:  # a spike that the kernel knows nothing of, and has to clear
            cuda.memcpy_htod(update_pointers["spike_state"], np.ones(1, self.dtype))

    current = StepInput("I", ["n"], 2.0, 0.0, 0.1)  # it never fires by itself
    expected = simulate(
        build({"n": node("OldLeaky", IAF)}, models=[OldLeaky]), 1e-4, 300, current, backend="cpu"
    )
    for base in (OldLeaky, model("LeakyIAF")):
        calls.clear()
        cls = type("Watched", (base,), {"run_step": run_step, "backends": ("cuda",)})
        nodes = {"n": node("Watched", IAF), "m": node("Watched", IAF, threshold=0.0)}
        nodes |= {"t": node("SynapseAMPA", AMPA), "s": node("SynapseAMPA", AMPA)}
        circuit = build(nodes, [("n", "s"), ("m", "t")], [cls])
        record = [("V", ["n"]), ("spike_state", ["n"]), ("g", ["s"])]
        data = simulate(circuit, 1e-4, 300, current, record, backend="cuda", executor=executor)
        assert_same_bits({"V": data["V"]}, expected)
        assert spike_rows(data) == [49, 99, 149, 199, 249, 299]
        jumps = np.flatnonzero(np.diff(data["g"][:, 0]) > 0) + 1
        assert jumps.tolist() == [50, 100, 150, 200, 250]  # and no spike is seen twice


@pytest.mark.needs("PyCUDA")
def test_rows_for_other_processes_hold_what_run_step_wrote(executor: str) -> None:
    """An exported row is taken after the raw class has written it."""
    nodes = {f"n{i}": node("DeviceLeaky", IAF, initV=-50.0 - i) for i in range(3)}
    program = compile_circuit(build(nodes, models=[DeviceLeaky]), 1e-4, target=CUDA)
    backend = CUDABackend(program, executor=executor)
    backend.publish()
    elements, out = np.array([2, 0], dtype=np.int32), np.zeros((1, 2))
    ring = list(program.layout.rings).index("V")
    backend.start([], [], [], [Probe(ring, 2, elements.ctypes.data, 0, 1, out.ctypes.data, 1, 2)])
    rows = []
    for k in range(5):
        backend.run(k, 1)
        backend.run_step(k)
        rows.append(out[0].copy())
        V = backend.row("V", k + 1)
        assert rows[-1].tolist() == V[program.layout.elements(0, "V")[[2, 0]]].tolist()
    backend.close()
    assert (np.diff(rows, axis=0) < 0).all()


@pytest.mark.needs("PyCUDA")
def test_faults_name_class_step_and_line() -> None:
    """Of numpy on a device's address, of a wrong array, and of a kernel that fails later."""

    class Numpy(DeviceAlpha):
        """Reads the device's memory with numpy."""

        def run_step(self, update_pointers: Any) -> None:
            host_array(update_pointers["g"], self.num_comps, self.dtype)[:] = 1

    class Wrong(DeviceAlpha):
        """Sums into an array of the host."""

        def run_step(self, update_pointers: Any) -> None:
            self.sum_in_variable("spike_state", np.zeros(self.num_comps, np.float32))

    for cls, words in ((Numpy, "numpy cannot read"), (Wrong, "an array of 1 float64 on the GPU")):
        circuit = build({"n": node(cls.__name__, ALPHA)}, models=[cls])
        with pytest.raises(ModelError, match=rf"{cls.__name__}\.run_step, step 0: .*{words}"):
            simulate(circuit, steps=3, record=[("g", None)], backend="cuda")


@pytest.mark.needs("PyCUDA")
def test_raw_classes_that_do_not_run_here() -> None:
    """A class for the CPU says so, and one that uses PyCUDA says nothing and runs."""
    from old_style import RawLeaky

    with pytest.raises(ModelError, match="RawLeaky runs on cpu, this LPU's backend is 'cuda'"):
        simulate(build({"n": node("RawLeaky", IAF)}, models=[RawLeaky]), steps=1, backend="cuda")
