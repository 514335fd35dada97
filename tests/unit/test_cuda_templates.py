"""What users write in the old style compiles for a GPU, on a machine without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from device_code import check_text
from old_style import TEMPLATES, OldAlpha, OldLeaky
from support import ALPHA, IAF, ML, build, model, node

from neurodriver import Circuit, NDComponent
from neurodriver.backends.cuda.on_device import helper_text
from neurodriver.codegen.generate import generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.codegen.template import Signature
from neurodriver.compat.components import BaseMembraneModel
from neurodriver.errors import CompileError, ModelError
from neurodriver.model.library import shipped
from neurodriver.plan.arrays import VariableOwner
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.instances import check_backend
from neurodriver.plan.program import Program
from neurodriver.plan.target import CUDA

needs_compiler = pytest.mark.needs("NVRTC")

KERNEL = (
    "__global__ void update(int n, %(dt)s dt, int steps, %(input_I)s *I, %(param_tau)s *tau, "
    "%(internal_x)s *x, %(update_V)s *V) {{ for (int i = threadIdx.x + blockIdx.x * blockDim.x; "
    "i < n; i += gridDim.x * blockDim.x) {{ {body} }} }}"
)


def mine(body: str, kernel: str = KERNEL, **more: Any) -> type[NDComponent]:
    """Return a class `Mine` with one parameter, one internal state and that kernel."""
    text = kernel.format(body=body)
    names = {"params": ["tau"], "internals": {"x": 0.0}, "maximum_dt_allowed": 1e-3, **more}
    return type("Mine", (BaseMembraneModel,), {"get_update_template": lambda self: text, **names})


def kernels(circuit: Circuit, dtype: str) -> list[Kernel]:
    """Return the kernels of a circuit for the device, those of templates last."""
    program: Program = compile_circuit(circuit, 1e-4, dtype, target=CUDA)
    templates = {}
    for one in program.custom:
        cls: Any = circuit.groups[one.number].model
        runtime = cls.runtime
        if runtime.kernel:
            text = runtime.text(object.__new__(cls))
            signature = Signature(tuple(cls.params), tuple(runtime.states), runtime.integers)
            templates[one.number] = text, signature
    out = [task.kernel for task in generate(program, templates).tasks]
    for made in out:
        given = {*made.pointers, *made.integers, *made.scalars}
        rings = {key for key in given if isinstance(key.owner, VariableOwner)}
        assert given - rings <= set(program.arrays), made.name
    return out


def built(parts: Sequence[Kernel], dtype: str, own: int = 1, holds: bool = True) -> None:
    """Compile kernels as one circuit."""
    text = device_text([Part(k, own) for k in parts], dtype, Shape(256, 1, holds))
    check_text(text, whole=dtype == "float32")


def alone(cls: type[NDComponent], **given: Any) -> Circuit:
    """Return a circuit of 40 components of a model."""
    return Circuit.from_arrays([(cls, 40, given, None)])


@needs_compiler
@pytest.mark.parametrize("holds", [True, False])
def test_a_circuit_of_templates(dtype: str, holds: bool) -> None:
    """Templates beside each other and beside a declared model, with delays and fan-in."""
    nodes = {f"n{i}": node("OldLeaky", IAF) for i in range(3)}
    nodes |= {f"s{i}": node("OldAlpha", ALPHA) for i in range(6)}
    nodes |= {"m": node("OldMorrisLecar", ML, initV=-50.0)}
    edges = [(f"n{i % 3}", f"s{i}", {"delay": 1e-4 * (1 + i % 2)}) for i in range(6)]
    edges += [(f"s{i}", f"n{(i + 1) % 3}", {"reverse": 0.0}) for i in range(6)]
    made = kernels(build(nodes, edges, TEMPLATES), dtype)
    assert [k.name for k in made] == ["Aggregator"] + [
        f"{cls.__name__}.get_update_template" for cls in (OldLeaky, OldAlpha, TEMPLATES[2])
    ]
    built(made, dtype, own=1 if holds else 4, holds=holds)


def expressible(cls: type[NDComponent]) -> bool:
    """Whether a template can say what a model does."""
    return not cls.draws_random() and not any(a.each for a in cls.accesses)


@needs_compiler
def test_the_template_of_each_shipped_model(dtype: str) -> None:
    """All of them in one module."""
    made = []
    for name, shown in shipped().items():
        if expressible(shown) and shown.sub_units is None:
            text = shown.get_update_template(object.__new__(shown))
            body = {"get_update_template": lambda self, text=text: text, "__doc__": "As shipped."}
            own = type(name, (shown,), body)
            given = {p: 1.0 for p, rule in shown.params.items() if rule.default is None}
            made += kernels(alone(own, **given), dtype)
    assert len(made) > 10
    built(made, dtype)


@needs_compiler
def test_words_of_cuda(dtype: str) -> None:
    """Includes, macros, device functions and the names of functions in both precisions."""
    kernel = (
        "#include <math.h>\n#include <stdio.h>\n#include <cuda_runtime.h>\n#define real_V V\n"
        "#define SQ(x) ((x) * (x))\n#ifdef nonsense\n#endif\n"
        "__device__ __forceinline__ %(dt)s twice(%(dt)s a) {{ return 2 * a; }}\n"
        "template <class T> __device__ T same(const T *__restrict__ a) {{ return __ldg(a); }}\n"
        "__constant__ int table[2] = {{3, 4}};\n"
        'extern "C" ' + KERNEL.replace("void update", "void __launch_bounds__(256) update")
    )
    one = (
        "exp expm1 log log1p tanh cosh sinh sin cos sqrt rsqrt fabs floor ceil trunc round rint "
        "exp2 log2 log10 cbrt tan asin acos atan asinh acosh atanh erf erfc lgamma tgamma"
    )
    two = "pow fmin fmax fmod hypot atan2 copysign"
    calls = [f"x[i] += {f}(x[i]) + {f}f(0.5f) + {f}(1) + {f}(0.5f);" for f in one.split()]
    calls += [f"x[i] += {f}(x[i], 2.0) + {f}f(0.5f, 1.5f) + {f}(x[i], 2);" for f in two.split()]
    body = " ".join(calls) + (
        "__shared__ %(dt)s part[1]; part[0] = max(tau[i], (%(dt)s)2); __syncthreads();"
        "x[i] += pow%(fletter)s(part[0], 2) + fabs(-1.0) + min(3, 4) + abs(-2) + SQ(2);"
        "real_V[i] = twice(x[i]) + expf(0.0f) + table[1] + same(&tau[i]) + __expf(0.5f) + NAN"
        " + isnan(x[i]) + isinf(x[i]) + isfinite(x[i]) + signbit(x[i]) + warpSize + M_PI;"
        'uint32_t w = (uint32_t)i; if (w > 3u && INFINITY < 0) printf("%%d", w);'
    )
    built(kernels(alone(mine(body, kernel), tau=1.0), dtype) * 2, dtype)


@needs_compiler
def test_template_that_does_not_compile() -> None:
    """The error names the model, the line of its text and what the compiler says."""
    with pytest.raises(CompileError, match=r"Mine\.get_update_template\(2\).*undeclared"):
        built(kernels(alone(mine("\nV[i] = undeclared;"), tau=1.0), "float64"), "float64")
    missing = KERNEL.replace("%(internal_x)s *x, ", "")
    with pytest.raises(CompileError, match=r"call of Mine's update\(num_comps, dt, steps, input_I"):
        built(kernels(alone(mine("V[i] = 0;", missing), tau=1.0), "float64"), "float64")


@pytest.mark.parametrize(
    ("kernel", "body", "words"),
    [
        ("#include <curand_kernel.h>\n" + KERNEL, "", r"<curand_kernel\.h>.*SourceModule"),
        ('#include "mine.cuh"\n' + KERNEL, "", r"<mine\.cuh>.*without any headers"),
        ("#include <cuda/curand.h>\n" + KERNEL, "", "curand"),
        (KERNEL, "x[i] = __shfl_down_sync(~0u, x[i], 1);", "'__shfl_down_sync' needs threads that"),
        (KERNEL, "extern __shared__ double y[]; y[0] = 1;", "'extern __shared__'"),
        (KERNEL.replace("param_tau", "threshold"), "", r"unknown placeholder %\(threshold\)s"),
        (KERNEL.replace("__global__", "static"), "", "__global__ void update"),
    ],
)
def test_faults_of_a_template(kernel: str, body: str, words: str) -> None:
    """What no thread of its own can do is a ModelError before anything is compiled."""
    with pytest.raises(ModelError, match=rf"Mine\.get_update_template: .*{words}"):
        kernels(alone(mine(body, kernel), tau=1.0), "float64")


def test_a_class_in_a_comment_is_none() -> None:
    """Words in comments ask for nothing."""
    (made,) = kernels(alone(mine("V[i] = 1; // no __shfl_sync(1) here"), tau=1.0), "float64")
    assert "nd_user::update(" in made.text


@needs_compiler
def test_helpers(dtype: str) -> None:
    """Sums and notes for classes with a `run_step`."""
    cubin = check_text(helper_text(dtype))
    assert b"nd_inputs" in cubin and b"nd_mark_events" in cubin


def test_units_that_an_instance_launches_are_dealt_to_no_warp() -> None:
    """The resident kernel leaves them to `run_step`."""
    from neurodriver.backends.cuda import schedule, warp_items

    body = {"run_step": lambda self, pointers: None, "__doc__": "Watched."}
    own = type("Watched", (model("LeakyIAF"),), body)
    nodes = {"a": node("LeakyIAF", IAF), "b": node("Watched", IAF), "c": node("Watched", IAF)}
    program = compile_circuit(build(nodes, models=[own]), 1e-4, target=CUDA)
    units = generate(program).tasks
    assert [u.stepwise for u in units] == [False, True]
    lists = warp_items.distribute(schedule.choose(units, 132, True), units, [])
    assert lists.items.tolist() == [[0, 0, 1, 0]]


def test_where_classes_run() -> None:
    """A class with a kernel runs everywhere, a raw one where its module's tools do."""
    raw = {"run_step": lambda self, pointers: None, "params": ["tau"], "updates": ["V"]}
    plain = type("Plain", (NDComponent,), raw)
    (group,) = alone(plain, tau=1.0).groups
    with pytest.raises(ModelError, match=r"Plain runs on cpu.* choose backend 'cpu'.*'cuda'\)"):
        check_backend(group, "cuda")
    (other,) = alone(mine("V[i] = 0;"), tau=1.0).groups
    for backend in ("cpu", "cuda"):
        check_backend(other, backend)
