"""Every text that a GPU runs compiles, on a machine without a GPU and without a toolkit."""

from __future__ import annotations

import re

import pytest

from neurodriver.backends.cuda import compiler
from neurodriver.errors import CompileError
from neurodriver.kernels.source import header

try:
    NVRTC = compiler.find_compiler().name == "NVRTC"
except CompileError:
    NVRTC = False
pytestmark = pytest.mark.skipif(not NVRTC, reason="needs cuda-bindings and nvidia-cuda-nvrtc")

ARCHITECTURES = ("sm_80", "sm_90")
FUNCTION = re.compile(r"^ND_FN (?P<type>[\w ]+?) (?P<name>nd_\w+)\((?P<arguments>[^)]*)\)", re.M)


def built(text: str, arch: str) -> str:
    """Return what NVRTC says about a text that it takes."""
    cubin, said = compiler.find_compiler().compile(
        text, arch, [*compiler.FLAGS, "--ptxas-options=-v"]
    )
    assert cubin.startswith(b"\x7fELF")
    return said


def argument(declared: str, number: int) -> str:
    """Return an expression of an argument's type, out of memory that no compiler can foresee."""
    kind = re.sub(r"\[\d+\]|\bconst\b", "", declared).strip()
    words = kind.split()
    if len(words) > 1 and words[-1] not in ("int", "long", "double", "float"):
        words.pop()  # the name
    value = f"(({' '.join(words)} *)(in + {number * 64}))"
    return value if "[" in declared else f"*{value}"


def kernel(function: re.Match[str], number: int) -> str:
    """Return a kernel that does nothing but call a function."""
    arguments = ", ".join(
        argument(" ".join(one.split()), i) for i, one in enumerate(function["arguments"].split(","))
    )
    call = f"{function['name']}({arguments});"
    if function["type"] != "void":
        call = f"*({function['type']} *)out = {call}"
    name = f"k{number}_{function['name']}"
    return f'extern "C" __global__ void {name}(char *in, char *out) {{ {call} }}'


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_each_function_of_the_headers_is_device_code(arch: str) -> None:
    """Elementary functions and random numbers compile without a warning or a spill."""
    headers = header("math.h"), header("philox.h")
    functions = [found for text in headers for found in FUNCTION.finditer(text)]
    assert len(functions) == sum(text.count("\nND_FN ") for text in headers) > 80
    kernels = [kernel(function, i) for i, function in enumerate(functions)]
    prelude = "/* math.h and philox.h */\n#define ND_FN static __device__ __forceinline__"
    said = built("\n".join([prelude, *headers, *kernels]), arch)
    assert "warning" not in said
    told = compiler.resources(said)
    assert len(told) == len(kernels)
    for line in told:
        assert ", 0 bytes stack, 0 + 0 bytes spilled" in line
