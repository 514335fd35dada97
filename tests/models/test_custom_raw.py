"""What a raw class is given, when it is called, and what may go wrong."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from old_style import OldAlpha, OldLeaky, RawAlpha, RawLeaky
from support import ALPHA, AMPA, IAF, build, node, recorded, simulate, spike_rows, started

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    HDF5Recorder,
    NDComponent,
    StepInput,
    host_array,
)
from neurodriver.backends.cpu.backend import CPUBackend, Probe
from neurodriver.codegen.template import _independent, _one_pass, filled_in
from neurodriver.compat.components import BaseDendriteModel, BaseMembraneModel, BaseSynapseModel
from neurodriver.errors import CircuitWarning, CompileError, ModelError
from neurodriver.plan.compile import compile_circuit

KERNEL = (
    "__global__ void update(int n, %(dt)s dt, int steps, %(input_I)s *I, %(param_tau)s *tau, "
    "%(internal_x)s *x, %(update_V)s *V) {{ for (int i = threadIdx.x + blockIdx.x * blockDim.x; "
    "i < n; i += gridDim.x * blockDim.x) {{ {body} }} }}"
)


def template(body: str, kernel: str = KERNEL, **more: Any) -> type[NDComponent]:
    """Return a class `Mine` with one parameter, one internal state and that kernel."""
    text = kernel.format(body=body)
    names = {"params": ["tau"], "internals": {"x": 0.0}, "maximum_dt_allowed": 1e-3, **more}
    return type("Mine", (BaseMembraneModel,), {"get_update_template": lambda self: text, **names})


def run(cls: type[NDComponent], steps: int = 5, attributes: Any = None, **more: Any) -> Any:
    """Return what `Mine` updates."""
    circuit = build({"n": node(cls.__name__, attributes or {"tau": 1.0})}, models=[cls])
    return simulate(circuit, 1e-4, steps, record=[(v, None) for v in cls.updates], **more)


class Witness(BaseSynapseModel):
    """Keeps what it is given."""

    accesses = ["spike_state", "V"]
    updates = ["g"]
    params = ["gmax", "levels"]
    extra_params = ["initg", "noise"]
    int_params = ["levels"]
    seen: Any = None

    def __init__(self, params_dict, access_buffers, dt, cuda_verbose=True, **rest):  # type: ignore[no-untyped-def]
        self.calls = [("init", sorted(params_dict))]
        self.rest = {"cuda_verbose": cuda_verbose, **rest}
        self.given = params_dict, access_buffers, dt
        type(self).seen = self

    def pre_run(self, update_pointers: Any) -> None:
        self.row = host_array(update_pointers["g"], self.num_comps, self.dtype).get()
        self.calls.append(("pre_run", list(update_pointers)))

    def run_step(self, update_pointers: Any) -> None:
        buffer = self.access_buffers["V"]
        self.calls.append(("run_step", buffer.current))
        out = host_array(update_pointers["g"], self.num_comps, self.dtype)
        self.retrieve_buffer("V")
        out[:] = self.inputs["V"]

    def post_run(self) -> None:
        self.calls.append(("post_run", None))


def witnessed() -> Circuit:
    """Return two neurons and two witnesses: one with three inputs, one without any."""
    return build(
        {
            "a": node("LeakyIAF", IAF, initV=-61.0),
            "b": node("LeakyIAF", IAF, initV=-62.0),
            "w": node("Witness", {"gmax": 1, "levels": 3.0}, initg=0.5, noise=0.25, reverse=-70.0,
                      text="words", colour=2),
            "x": node("Witness", {"gmax": 2, "levels": 4}, initg=0.75, noise=0.5),
        },
        [
            ("a", "w", {"variable": "V", "delay": 3e-4, "reverse": -5.0}),
            ("b", "w", {"variable": "V", "alpha": 7.0}),
            ("a", "w", {"variable": "spike_state"}),
        ],
        [Witness],
    )  # fmt: skip


def test_what_a_raw_class_is_given(dtype: str) -> None:
    """Parameters in the working type, connections in order, buffers, addresses."""
    with pytest.warns(CircuitWarning, match="'colour' is missing on 1 of 2 nodes; NaN"):
        lpu = LPU(witnessed(), 1e-4, dtype=dtype, backend="cpu")
    with lpu:
        params, buffers, dt = Witness.seen.given
        assert Witness.seen.accesses == ["spike_state", "V"]
        assert (Witness.seen.updates, Witness.seen.params) == (["g"], ["gmax", "levels"])
        assert dt == 1e-4 and Witness.seen.LPU_id == lpu.circuit.name
        assert sorted(Witness.seen.rest) == ["LPU_id", "cuda_verbose", "debug"]
        for name, values in {"gmax": [1, 2], "noise": [0.25, 0.5], "initg": [0.5, 0.75]}.items():
            assert params[name].dtype == dtype
            assert params[name].get().tolist() == values
        assert params["levels"].dtype == np.int32 and params["levels"].get().tolist() == [3, 4]
        assert params["colour"][0] == 2 and "text" not in params
        assert params["npre"]["V"].tolist() == [2, 1]
        assert params["cumpre"]["V"].tolist() == [0, 2, 3]
        data = params["conn_data"]["V"]
        assert data["delay"].tolist() == [2, 0, 0] and data["delay"].dtype == np.int32
        assert data["alpha"].tolist()[1] == 7 and data["reverse"].tolist()[0] == -5
        assert params["pre"]["V"].dtype == np.int32
        buffer = buffers["V"]
        assert (buffer.buffer_length, buffer.dtype) == (4, np.dtype(dtype))
        ring = host_array(buffer.gpudata, buffer.ld * buffer.buffer_length, dtype)
        values = ring[params["pre"]["V"]]
        assert values.tolist() == [-61.0, -62.0, 0.0]
        assert isinstance(params["gmax"].gpudata, int)
        params["gmax"].set([5, 6])
        assert host_array(params["gmax"].gpudata, 2, dtype).tolist() == [5, 6]


@pytest.mark.filterwarnings("ignore:Witness")
def test_life_of_a_raw_class() -> None:
    """Made, `pre_run`, one `run_step` a step with a buffer that moves on, `post_run` once."""
    record = [("g", ["w", "x"]), ("V", ["a"])]
    data = simulate(witnessed(), 1e-4, 6, record=record, backend="cpu")
    witness = Witness.seen
    kinds = [kind for kind, _ in witness.calls]
    assert kinds == ["init", "pre_run", *["run_step"] * 6, "post_run"]
    assert [row for kind, row in witness.calls if kind == "run_step"] == [0, 1, 2, 3, 0, 1]
    assert witness.calls[1][1] == ["g"]
    assert witness.row.tolist() == [0.5, 0.75]  # initg is in row 0 already
    assert data["g"][0].tolist() == [0.5, 0.75]
    # the first input comes from a, two rows further back than the newest
    V = data["V"][:, 0]
    np.testing.assert_array_equal(data["g"][1:, 0], V[[0, 0, 0, 1, 2]])
    assert not data["g"][1:, 1].any()


def test_a_raw_class_without_any_input() -> None:
    """A variable that nothing updates is read as zero."""
    neuron = build({"n": node("RawLeaky", IAF)}, models=[RawLeaky])
    data = simulate(neuron, steps=20, backend="cpu")
    assert (data["V"] == -70.0).all()
    synapse = build({"n": node("RawAlpha", ALPHA)}, models=[RawAlpha])
    g = simulate(synapse, steps=20, record=[("g", None)], backend="cpu")["g"]
    assert not g.any()


def test_raw_dendrite_reads_reversal_potentials() -> None:
    """`conn_data["g"]["reverse"]` in the order of the edges, as an Aggregator uses it."""

    class Dendrite(BaseDendriteModel):
        """An Aggregator in numpy."""

        def run_step(self, update_pointers: Any) -> None:
            p, buffer = self.params_dict, self.access_buffers["g"]
            ring = host_array(buffer.gpudata, buffer.ld * buffer.buffer_length, buffer.dtype)
            rows = (buffer.current - p["conn_data"]["g"]["delay"]) % buffer.buffer_length
            g = ring[rows * buffer.ld + p["pre"]["g"]]
            self.sum_in_variable("V", self.inputs["V"])
            total = np.zeros(self.num_comps)
            who = np.repeat(np.arange(self.num_comps), p["npre"]["g"])
            np.add.at(total, who, g * (self.inputs["V"][who] - p["conn_data"]["g"]["reverse"]))
            host_array(update_pointers["I"], self.num_comps, self.dtype)[:] = -total

    nodes = {
        "n": node("LeakyIAF", IAF, initV=-60.0),
        "s": node("SynapseAMPA", AMPA, inits=2.0, reverse=0.0),
        "t": node("SynapseAMPA", AMPA, inits=1.0),
    }
    out = []
    for name in ("Aggregator", "Dendrite"):
        links = [
            ("s", "d"),
            ("t", "d", {"reverse": -80.0, "delay": 3e-4}),
            ("n", "d", {}),
            ("d", "n"),
        ]
        circuit = build({**nodes, "d": node(name, {})}, links, [Dendrite])
        record = [("I", ["d"]), ("V", ["n"])]
        out.append(simulate(circuit, 1e-4, 100, record=record, backend="cpu"))
    assert np.ptp(out[0]["I"]) > 0
    np.testing.assert_array_equal(out[0]["I"], out[1]["I"])
    np.testing.assert_array_equal(out[0]["V"], out[1]["V"])


def test_ports_lead_to_raw_classes() -> None:
    """Values at an input port reach a raw neuron, its spikes an output port's edge."""
    port = {"class": "Port", "port_type": "gpot"}
    circuit = build(
        {
            "in": {**port, "selector": "/a/in/gpot/0", "port_io": "in"},
            "n": node("RawLeaky", IAF),
            "out": {**port, "selector": "/a/out/spk/0", "port_io": "out", "port_type": "spike"},
        },
        [("in", "n", {"variable": "I"}), ("n", "out")],
        [RawLeaky],
    )
    record = [("V", ["n"]), ("spike_state", ["n"])]
    current = StepInput("I", ["in"], 10.0, 0.02, 0.08)
    data = simulate(circuit, inputs=current, record=record, backend="cpu")
    assert spike_rows(data) == [258, 316, 374, 432, 490, 548, 606, 664, 722, 780]


def test_silent_rows_of_a_raw_class_wake_up() -> None:
    """Spikes that Python writes are read by compiled synapses over any delay, each once."""

    class Clockwork(NDComponent):
        """Spikes in every 25th row."""

        updates = ["spike_state"]

        def pre_run(self, update_pointers: Any) -> None:
            self.row = 0

        def run_step(self, update_pointers: Any) -> None:
            self.row += 1
            out = host_array(update_pointers["spike_state"], self.num_comps, self.dtype)
            out[:] = self.row % 25 == 0

    nodes = {"c": node("Clockwork", {}), "s": node("OldAlpha", ALPHA)}
    nodes |= {uid: node("SynapseAMPA", AMPA) for uid in "tuv"}
    later = {"delay": 1.1e-3}
    circuit = build(  # three synapses of one neuron: their rows are read where they are noted
        nodes,
        [("c", "s"), ("c", "t", later), ("c", "u", later), ("c", "v", later)],
        [Clockwork, OldAlpha],
    )
    record = [("spike_state", ["c"]), ("g", ["t"])]
    with started(circuit, record=record, backend="cpu") as lpu:
        forms = [g.form for g in lpu.program.gathers.values() if g.edges == 3]
        assert forms == ["single"] and lpu.program.gathers
        lpu.run(steps=120)
        data = recorded(lpu, 120)
    assert spike_rows(data) == [25, 50, 75, 100]
    jumps = np.flatnonzero(np.diff(data["g"][:, 0]) > 0) + 1
    assert jumps.tolist() == [36, 61, 86, 111]


def test_rows_for_other_processes_hold_what_run_step_wrote() -> None:
    """An exported row is taken after the raw class has written it."""
    circuit = build(
        {f"n{i}": node("RawLeaky", IAF, initV=-50.0 - i) for i in range(3)}, models=[RawLeaky]
    )
    program = compile_circuit(circuit, 1e-4)
    backend = CPUBackend(program, 2)
    backend.publish()
    elements = np.array([2, 0], dtype=np.int32)
    out = np.zeros((1, 2))
    ring = list(program.layout.rings).index("V")
    probe = Probe(ring, 2, elements.ctypes.data, 0, 1, out.ctypes.data, 1, 2)
    backend.start([], [], [], [probe])
    rows = []
    for k in range(5):
        backend.run(k, 1)
        backend.run_step(k)
        rows.append(out[0].copy())
        V = backend.memory.get_buffer("V")[(k + 1) % 2]
        assert rows[-1].tolist() == V[program.layout.elements(0, "V")[[2, 0]]].tolist()
    backend.close()
    assert (np.diff(rows, axis=0) < 0).all()


def test_an_error_in_run_step(tmp_path: Path) -> None:
    """It says model, step, file and line; the recording holds the rows before it."""

    class Broken(RawLeaky):
        """Fails in step 7."""

        steps = 0

        def run_step(self, update_pointers: Any, st: Any = None) -> None:
            super().run_step(update_pointers)
            if self.steps == 7:
                raise KeyError("gone")
            self.steps += 1

    path = tmp_path / "out.h5"
    circuit = build({"n": node("Broken", IAF, initV=-60.0)}, models=[Broken])
    recorders = [HDF5Recorder(path, [("V", None)])]
    with LPU(circuit, 1e-4, recorders=recorders, backend="cpu") as lpu:
        with pytest.raises(ModelError, match=r"Broken\.run_step, step 7: KeyError: 'gone'") as told:
            lpu.run(steps=50)
        assert isinstance(told.value.__cause__, KeyError)
        assert "test_custom_raw.py, line" in str(told.value)
        with pytest.raises(Exception, match="make a new LPU"):
            lpu.advance(1)
    with h5py.File(path) as file:
        V = file["V/data"][:]
    assert len(V) == 8 and V[0, 0] == -60.0 and (np.diff(V[:, 0]) < 0).all()


def test_an_interrupt_is_no_fault_of_the_model() -> None:
    """Ctrl-C in a `run_step` stays what it is."""

    class Interrupted(RawLeaky):
        """Is interrupted."""

        def run_step(self, update_pointers: Any, st: Any = None) -> None:
            raise KeyboardInterrupt

    circuit = build({"n": node("Interrupted", IAF)}, models=[Interrupted])
    with started(circuit, backend="cpu") as lpu, pytest.raises(KeyboardInterrupt):
        lpu.run(steps=3)


@pytest.mark.parametrize("method", ["__init__", "pre_run", "post_run", "get_update_template"])
def test_an_error_in_another_method(method: str) -> None:
    """Each method is named."""

    def fail(self: Any, *args: Any, **kwargs: Any) -> None:
        raise ValueError("no good")

    cls = type("Faulty", (OldLeaky,), {method: fail})
    circuit = build({"n": node("Faulty", IAF)}, models=[cls])
    with pytest.raises(ModelError, match=rf"Faulty\.{method}: ValueError: no good"):
        simulate(circuit, steps=3)


def test_template_that_does_not_compile() -> None:
    """The error names the model, the line of its text and what the compiler says."""
    cls = template("V[i] = undeclared;\n")
    with pytest.raises(CompileError, match=r"Mine\.get_update_template[:(]1[:)].*undeclared"):
        run(cls)
    missing = KERNEL.replace("%(internal_x)s *x, ", "")
    with pytest.raises(CompileError, match=r"call of Mine's update\(num_comps, dt, steps, input_I"):
        run(template("V[i] = 0;", missing))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (KERNEL.replace("input_I", "input_i"), "unknown placeholder.*'input_I'"),
        (KERNEL.replace("param_tau", "threshold"), r"unknown placeholder %\(threshold\)s"),
        (KERNEL.replace("__global__", "static"), "__global__ void update"),
        ("// __global__ void update()\n", "__global__ void update"),
        ("#include <curand_kernel.h>\n" + KERNEL, r"curand_kernel\.h.*uniform"),
        ("", "expected text"),
    ],
)
def test_faults_of_a_template(kernel: str, words: str) -> None:
    """What no kernel can be made of is a ModelError before anything is compiled."""
    with pytest.raises(ModelError, match=rf"Mine\.get_update_template: .*{words}"):
        run(template("V[i] = 0;", kernel))


def test_percent_signs() -> None:
    """``%%`` is a percent sign, and so is one that begins no placeholder."""
    for body in ("V[i] = 17 %% 5;", "V[i] = 17 % 5;", "int k = 5; V[i] = 17 %(k) + 0;"):
        assert run(template(body))["V"][1:, 0].tolist() == [2.0] * 4


@given(st.text(), st.text("(){};%=+ gridDim.xforint\n"))
def test_text_without_placeholders_is_kept(text: str, code: str) -> None:
    """Doubled percent signs come out single; nothing else is touched, whatever it is."""
    assert filled_in(text.replace("%", "%%"), {}, "") == text
    marked = _independent(_one_pass(code))
    assert marked.replace('_Pragma("GCC ivdep") ', "") == code or "if (int" in marked


def test_words_of_cuda(dtype: str) -> None:
    """Includes, macros, device functions and the names of functions in both precisions."""
    kernel = (
        "#include <math.h>\n#include <cuda_runtime.h>\n#define real_V V\n#define I_ 1\n"
        "#define SQ(x) ((x) * (x))\n#ifdef nonsense\n#endif\n"
        "__device__ __forceinline__ %(dt)s twice(%(dt)s a) {{ return 2 * a; }}\n"
        "__constant__ int table[2] = {{3, 4}};\n" + KERNEL
    )
    body = (
        "__shared__ %(dt)s part[1]; part[0] = max(tau[i], (%(dt)s)2); __syncthreads();"
        "x[i] += pow%(fletter)s(part[0], 2) + fabs(-1.0) + min(3, 4) + abs(-2) + SQ(2);"
        "real_V[i] = twice(x[i]) + expf(0.0f) + table[1] + sqrt(16.0) + fmod(7.0, 4.0)"
        " + isnan(x[i]) + ceilf(0.5f) + __ldg(&tau[i]) + warpSize;"
    )
    V = run(template(body, kernel), attributes={"tau": 3.0}, dtype=dtype)["V"][:, 0]
    assert V.dtype == dtype
    assert V.tolist() == [0.0] + [2.0 * 19 * k + 1 + 4 + 4 + 3 + 1 + 3 + 1 for k in (1, 2, 3, 4)]


def test_steps_and_dt_of_a_template() -> None:
    """``dt`` is the sub-step in seconds, ``steps`` their number; `self.dt` is there to ask."""
    dt_of = property(lambda self: self.dt / 4)
    V = run(template("V[i] = steps; x[i] = dt; V[i] += dt;", maximum_dt_allowed=dt_of))["V"]
    assert V[1, 0] == 4 + 1e-4 / 4


def test_loops_over_substeps_keep_their_meaning() -> None:
    """Whatever is made of a loop over one sub-step, and of one that is left early."""
    loops = {
        "for (int j = 0; j < steps; ++j) { x[i] += 1 + j; }": (1, 3),
        "for (int j = 0; j<steps; j++) if (j == 0) x[i] += 5; else x[i] += 1;": (5, 6),
        "for (int j = 0; j < steps; ++j) { if (j == 0) continue; x[i] += 1; } x[i] += 7;": (7, 8),
        "for (int j = 0; j < 3; ++j) { if (j == 2) break; x[i] += 1; }": (2, 2),
        "for (int j = 0; j <= steps; ++j) x[i] += 1;": (2, 3),
        "int k = 0; while (k++ < steps) x[i] += 2;": (2, 4),
    }
    for text, expected in loops.items():
        for longest, each in zip((1e-4, 5e-5), expected, strict=True):
            V = run(template(text + " V[i] = x[i];", maximum_dt_allowed=longest))["V"]
            assert V[:, 0].tolist() == [each * k for k in range(5)], text


def test_nan_stays_where_it_is() -> None:
    """A component whose numbers go wrong spoils no other."""
    cls = template("V[i] = sqrt%(fletter)s(tau[i]);", params=["tau"])
    nodes = {f"n{i}": node("Mine", {"tau": float(i - 2)}) for i in range(40)}
    V = simulate(build(nodes, models=[cls]), steps=3)["V"]
    assert np.isnan(V[1, :2]).all()
    np.testing.assert_array_equal(V[1, 2:], np.sqrt(np.arange(38.0)))


def test_initial_values_of_a_template() -> None:
    """``init<X>`` starts the internal states ``X`` and ``internalX`` and the variable ``X``."""
    cls = template("V[i] = x[i];", internals={"x": 0.25, "internalV": -1.0}, kernel=KERNEL.replace(
        "%(update_V)s", "%(internal_internalV)s *iV, %(update_V)s"))  # fmt: skip
    V = run(cls, attributes={"tau": 1.0})["V"][:, 0]
    assert V[:2].tolist() == [-1.0, 0.25]
    V = run(cls, attributes={"tau": 1.0, "initV": -3.0, "initx": 0.5})["V"][:, 0]
    assert V[:2].tolist() == [-3.0, 0.5]
    nodes = {"a": node("Mine", {"tau": 1.0}, initV=-3.0), "b": node("Mine", {"tau": 1.0})}
    with pytest.warns(CircuitWarning, match="'initV' is missing on 1 of 2 nodes; -1 is taken"):
        V = simulate(build(nodes, models=[cls]), steps=2)["V"]
    assert V[0].tolist() == [-3.0, -1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(cls, attributes={"tau": 1})


def test_a_kernel_knows_its_component_by_number() -> None:
    """The index of the loop is the component's own, whatever thread and tile it falls into."""
    one_each = KERNEL.split("{{")[0] + (
        "{{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ {body} }} }}"
    )
    for kernel in (KERNEL, one_each):
        cls = template("V[i] = i + n * 1000.0 * (n != 777 && i >= n);", kernel)
        for threads in (1, 3):
            circuit = Circuit.from_arrays([(cls, 777, {"tau": 1.0}, None)])
            V = simulate(circuit, steps=3, threads=threads)["V"]
            np.testing.assert_array_equal(V[2], np.arange(777))


def test_backends() -> None:
    """A class that does not run here says so; a template runs everywhere."""
    device = type("Device", (RawLeaky,), {"backends": ("cuda",)})
    circuit = build({"n": node("Device", IAF)}, models=[device])
    with pytest.raises(ModelError, match="Device runs on cuda, this LPU's backend is 'cpu'"):
        LPU(circuit, 1e-4, backend="cpu")
    both = type("Both", (RawLeaky,), {"backends": ("cpu", "cuda")})
    both_of = build({"n": node("Both", IAF)}, models=[both])
    assert len(simulate(both_of, steps=3, backend="cpu")["V"]) == 3
    none = type("Nowhere", (RawLeaky,), {"backends": ("gpu",)})
    with pytest.raises(ModelError, match="'gpu' is none"):
        LPU(build({"n": node("Nowhere", IAF)}, models=[none]), 1e-4)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"accesses": [("a", "b")]}, "several channels"),
        ({"params": ["tau", "tau"]}, "twice"),
        ({"params": ["not a name"]}, "not a usable name"),
        ({"accesses": ["I", "I"]}, "two accesses of one name"),
        ({"internals": {"x": "one"}}, "expected a mapping of names to numbers"),
        ({"int_params": ["tow"]}, "no parameter 'tow'"),
    ],
)
def test_faults_of_a_declaration(names: dict[str, Any], words: str) -> None:
    """A class in the old style is checked when it is made."""
    with pytest.raises(ModelError, match=words):
        template("", **names)


def test_faults_told_when_the_circuit_is_compiled() -> None:
    """A base without code, whole numbers that are none, a maximum that fails."""
    bare = type("Bare", (BaseMembraneModel,), {"params": ["tau"]})
    with pytest.raises(ModelError, match="Bare is a base of models"):
        build({"n": node("Bare", {"tau": 1.0})}, models=[bare])
    with pytest.raises(ModelError, match="nothing says what it computes"):
        LPU(Circuit.from_arrays([(bare, 1, {"tau": 1.0}, None)]), 1e-4)
    with pytest.raises(ModelError, match="whole numbers"):
        run(template("V[i] = tau[i];", int_params=["tau"]), attributes={"tau": 1.5})
    bad = property(lambda self: self.params_dict["tau"])
    with pytest.raises(ModelError, match=r"Mine\.maximum_dt_allowed: .*self\.dt"):
        run(template("V[i] = 0;", maximum_dt_allowed=bad))
    with pytest.raises(ModelError, match="positive"):
        run(template("V[i] = 0;", maximum_dt_allowed=0))


def test_integers_of_a_template() -> None:
    """A parameter that is asked for as int is one in the kernel; others are never."""
    cls = template("V[i] = tau[i] / 2;", int_params=["tau"])
    assert run(cls, attributes={"tau": 7})["V"][1, 0] == 3.0
    assert run(template("V[i] = tau[i] / 2;"), attributes={"tau": 7})["V"][1, 0] == 3.5


def test_helpers_name_what_they_do_not_know() -> None:
    """A wrong name in `add_initializer` or `sum_in_variable` is told with a near one."""

    class Typo(OldLeaky):
        """Misspells a state."""

        def pre_run(self, update_pointers: Any) -> None:
            self.add_initializer("initV", "internalv", update_pointers)

    with pytest.raises(ModelError, match="did you mean 'internalV'"):
        simulate(build({"n": node("Typo", IAF)}, models=[Typo]), steps=1)

    class Lost(RawAlpha):
        """Sums a variable that it does not access."""

        def run_step(self, update_pointers: Any) -> None:
            self.sum_in_variable("spike_stat", self.inputs["spike_state"])

    with pytest.raises(ModelError, match="did you mean 'spike_state'"):
        lost = build({"n": node("Lost", ALPHA)}, models=[Lost])
        simulate(lost, steps=1, record=(), backend="cpu")


def test_spikes_injected_into_a_raw_synapse() -> None:
    """Inputs reach raw classes as every other connection does."""
    spikes = np.zeros((60, 1))
    spikes[[3, 30]] = 1.0
    given = ArrayInput({"spike_state": (["n"], spikes)})
    out = [
        simulate(build({"n": node(name, ALPHA)}, models=[RawAlpha]), steps=60, inputs=given,
                 record=[("g", None)], backend="cpu")["g"]
        for name in ("AlphaSynapse", "RawAlpha")
    ]  # fmt: skip
    assert out[0].max() > 0
    np.testing.assert_array_equal(out[0], out[1])
