"""CUDA C++ becomes a cubin: flags, cache and errors, without a GPU."""

from __future__ import annotations

import re
import struct
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from neurodriver.backends.cuda import compiler
from neurodriver.backends.cuda.compiler import CudaCompiler, compile_cubin
from neurodriver.cli.info import report
from neurodriver.errors import CompileError

TEXT = """/* a scaled sum */
extern "C" __global__ void axpy(double a, const double *x, double *y)
{
    y[threadIdx.x] = a * x[threadIdx.x] + y[threadIdx.x];
}
"""
MANY = """/* sixty live numbers */
extern "C" __global__ void many(double *x)
{
    double v[60], sum = 0.0;
    #pragma unroll
    for (int i = 0; i < 60; ++i) sum += v[i] = x[i * 32 + threadIdx.x];
    #pragma unroll
    for (int i = 0; i < 60; ++i) x[i * 32 + threadIdx.x] = v[i] * sum;
}
"""
CUDA_MACHINE = 190  # e_machine of an ELF file with code for a GPU

nvrtc_only = pytest.mark.needs("NVRTC")
nvcc_only = pytest.mark.needs("nvcc")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Point the cache at an empty folder; look for a compiler anew, before and after."""
    find = compiler.find_compiler
    monkeypatch.setenv("NEURODRIVER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NEURODRIVER_DEBUG", raising=False)
    find.cache_clear()
    yield tmp_path / "cache"
    find.cache_clear()


def is_device_code(cubin: bytes) -> bool:
    """Tell whether bytes are an ELF file for a GPU."""
    return cubin[:4] == b"\x7fELF" and struct.unpack_from("<H", cubin, 18)[0] == CUDA_MACHINE


@nvrtc_only
def test_equal_text_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, architecture, options and the compiler's version decide; the rest comes from disk."""
    first = compile_cubin(TEXT, "sm_90")
    assert is_device_code(first) and b"axpy" in first
    found = compiler.find_compiler()

    def never(*anything: object) -> tuple[bytes, str]:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiler, "find_compiler", lambda: CudaCompiler("NVRTC", "0.0", never))
    with pytest.raises(AssertionError, match="compiled again"):
        compile_cubin(TEXT, "sm_90")
    same = CudaCompiler(found.name, found.version, never)
    monkeypatch.setattr(compiler, "find_compiler", lambda: same)
    assert compile_cubin(TEXT, "sm_90") == first
    for other in ((TEXT + " ", "sm_90"), (TEXT, "sm_80"), (TEXT, "sm_90", ["-DOTHER"])):
        with pytest.raises(AssertionError, match="compiled again"):
            compile_cubin(*other)
    assert len(list(cache.glob("*.cubin"))) == 1


def test_threads_wait_for_a_text(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a circuit ask for the same text at the same time."""
    asked: list[str] = []

    def slow(text: str, *how: object) -> tuple[bytes, str]:
        asked.append(text)
        time.sleep(0.05)
        return text.encode(), ""

    monkeypatch.setattr(compiler, "find_compiler", lambda: CudaCompiler("slow", "1", slow))
    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(compile_cubin, [TEXT] * 3, ["sm_90"] * 3))) == 1
    assert asked == [TEXT]


@nvrtc_only
def test_architectures_differ() -> None:
    """The code is that of the architecture asked for."""
    codes = [compile_cubin(TEXT, arch) for arch in ("sm_80", "sm_90", "sm_90a")]
    assert all(map(is_device_code, codes)) and len(set(codes)) == 3


@nvrtc_only
def test_nothing_is_contracted() -> None:
    """A product that meets a sum stays a product and a sum; by default it would not."""
    assert instructions(TEXT, compiler.FLAGS) == {"mul.rn.f64", "add.rn.f64"}
    assert instructions(TEXT, ()) == {"fma.rn.f64"}


def instructions(text: str, flags: tuple[str, ...]) -> set[str]:
    """Return the arithmetic of a text in double precision, as PTX names it."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    program = nvrtc.nvrtcCreateProgram(text.encode(), b"text.cu", 0, [], [])[1]
    options = [b"--gpu-architecture=compute_90", *[flag.encode() for flag in flags]]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS
    ptx = bytearray(nvrtc.nvrtcGetPTXSize(program)[1])
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    return set(re.findall(r"\b(?:mul|add|fma)[.\w]*f64", ptx.decode()))


@nvrtc_only
@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("/* a kernel */\n__device__ int f() { return nonsense; }", (), '"nonsense" is undefined'),
        ("/* a kernel */\n#include <vector>\n", (), "vector"),
        ("/* a kernel */\n", ("--nonsense",), "unrecognized option --nonsense"),
    ],
)
def test_refused_text_is_told_with_the_compilers_words(
    cache: Path, text: str, options: tuple[str, ...], said: str
) -> None:
    """The error holds the log, the text's name and what was run; nothing stays in the cache."""
    with pytest.raises(CompileError, match=said) as caught:
        compile_cubin(text, "sm_90", options)
    told = str(caught.value)
    assert "(/* a kernel */)" in told
    assert re.search(r"while running NVRTC [\d.]+ with --gpu-architecture=sm_90 .*fmad", told)
    assert not list(cache.iterdir())


@nvrtc_only
def test_long_logs_are_cut() -> None:
    """A thousand errors do not fill the screen."""
    lines = "\n".join(f"__device__ int f{i}() {{ return nonsense{i}; }}" for i in range(1000))
    with pytest.raises(CompileError, match='"nonsense0" is undefined') as caught:
        compile_cubin(f"/* many faults */\n{lines}", "sm_90")
    assert 1000 < len(str(caught.value)) < 5000


@pytest.mark.parametrize("arch", ["compute_90", "sm90", "90", "sm_90; rm", ""])
def test_only_real_architectures(arch: str) -> None:
    """PTX is not asked for: it would be compiled again on every start."""
    with pytest.raises(CompileError, match=f"like 'sm_90', got '{re.escape(arch)}'"):
        compile_cubin(TEXT, arch)


@nvrtc_only
def test_unknown_architecture() -> None:
    """What this NVRTC can do is told with what it cannot."""
    with pytest.raises(CompileError, match=r"NVRTC [\d.]+ cannot compile for sm_20, .*sm_90"):
        compile_cubin(TEXT, "sm_20")


@nvrtc_only
def test_debug_tells_resources(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Registers and spilled bytes of each kernel are told; without debug nothing is."""
    compile_cubin(MANY, "sm_90")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("NEURODRIVER_DEBUG", "1")
    told = []
    for few in ((), ("--maxrregcount=32",)):
        cubin = compile_cubin(MANY, "sm_90", few)
        assert is_device_code(cubin) and b"line" in cubin
        told.append(capsys.readouterr().err)
    assert re.match(r"many: 1\d\d registers.* 0 bytes stack, 0 \+ 0 bytes spilled", told[0])
    assert re.match(r"many: 32 registers.* \d\d+ bytes stack, \d\d+ \+ \d\d+ bytes", told[1])
    assert len(list(cache.glob("*.cubin"))) == 1


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """With neither, the error says what to install and why each was of no use."""
    for name in ("cuda", "cuda.bindings"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CompileError, match=r'pip install "neurodriver\[gpu\]"') as caught:
        compile_cubin(TEXT, "sm_90")
    assert "NVRTC (" in str(caught.value) and "nvcc (" in str(caught.value)


NVCC = """#!{python}
import sys
given = sys.argv[1:]
if given == ["--version"]:
    print("nvcc: NVIDIA (R) Cuda compiler driver", "Copyright (c) 2005-2025", sep="\\n")
    print("Cuda compilation tools, release 13.0, V13.0.48", "Build cuda_13.0.r13.0", sep="\\n")
    sys.exit()
with open({log!r}, "a") as log:
    print(*given, file=log)
text = open(given[-3]).read()
if "nonsense" in text:
    sys.exit('identifier "nonsense" is undefined')
open(given[-1], "wb").write(b"\\x7fELF of nvcc")
"""


@pytest.fixture
def only_nvcc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide NVRTC's library, put a program in the place of nvcc; return what it is asked."""

    def missing() -> None:
        raise RuntimeError('Failure finding "libnvrtc.so.13"')

    bindings = ModuleType("cuda.bindings")
    bindings.__dict__.update(nvrtc=SimpleNamespace(nvrtcVersion=missing))
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    program, log = tmp_path / "nvcc", tmp_path / "asked"
    program.write_text(NVCC.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return log


def test_nvcc_where_nvrtc_is_missing(only_nvcc: Path) -> None:
    """It gets the architecture and our flags, and is asked once."""
    for _ in range(2):
        assert compile_cubin(TEXT, "sm_90", ["-DREAL=float"]) == b"\x7fELF of nvcc"
    (asked,) = only_nvcc.read_text().splitlines()
    *flags, _, _, _ = asked.split()
    assert flags == ["--cubin", "-arch=sm_90", *compiler.FLAGS, "-DREAL=float"]
    assert report()["CUDA compiler"] == "nvcc 13.0, V13.0.48"  # one line of several


def test_what_nvcc_refuses(only_nvcc: Path, cache: Path) -> None:
    """The error has the same form as NVRTC's."""
    told = (
        r'(?s)^nvcc refused generated text \(/\* bad \*/\):\nidentifier "nonsense" is undefined\n'
        r"while running \S*nvcc --cubin .*kernel.cubin$"
    )
    with pytest.raises(CompileError, match=told):
        compile_cubin("/* bad */\nnonsense", "sm_90")
    assert not list(cache.iterdir())


@nvcc_only
def test_the_nvcc_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the same text and flags, in silence."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert compiler.find_compiler().name == "nvcc"
    assert is_device_code(compile_cubin(TEXT, "sm_90"))
    with pytest.raises(CompileError, match=r'(?s)nvcc refused.*"nonsense" is undefined'):
        compile_cubin("/* a kernel */\n__device__ int f() { return nonsense; }", "sm_90")
