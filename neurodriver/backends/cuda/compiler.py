"""CUDA C++ -> cubin, without a GPU: NVRTC's wheel where it is installed, else nvcc."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ... import settings
from ...errors import CompileError
from ...native.cache import kept, refused
from ...profiling.phases import phased

FLAGS = (
    "--std=c++17",
    "--fmad=false",  # the CPU's bits: no contraction, and never fast math
    "--ftz=true",  # nor numbers below the least normal one
    "--diag-suppress=177,550",  # functions that are not called, values that are not read
)
DEBUG_FLAGS = ("-lineinfo", "--ptxas-options=-v")


@dataclass(frozen=True)
class CudaCompiler:
    """A compiler of CUDA C++ that was found.

    Attributes
    ----------
    compile : callable
        (text, architecture, flags) -> cubin, and what the compiler said; raises CompileError.
    """

    name: str
    version: str
    compile: Callable[[str, str, Sequence[str]], tuple[bytes, str]]


@phased("build kernels")
def compile_cubin(text: str, arch: str, options: Sequence[str] = ()) -> bytes:
    """Return the machine code of a text in CUDA C++; compiled once per cache.

    With ``NEURODRIVER_DEBUG`` it is compiled anew, with line numbers, and the registers and the
    spilled bytes of each kernel are printed.

    Parameters
    ----------
    text : str
        Includes nothing: NVRTC brings no headers. Its first line says what it is.
    arch : str
        Real architecture, such as ``sm_90``.
    options : sequence of str
        More flags, in a spelling that both NVRTC and nvcc take.

    Raises
    ------
    CompileError
        Without a compiler, and with the compiler's own words when it refuses the text.
    """
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise CompileError(f"the architecture must be a real one, like 'sm_90', got '{arch}'")
    compiler = find_compiler()
    flags = [*FLAGS, *options]
    if settings.debug():
        cubin, said = compiler.compile(text, arch, [*flags, *DEBUG_FLAGS])
        print(*resources(said), sep="\n", file=sys.stderr)
        return cubin
    parts = [text, arch, *flags, compiler.name, compiler.version]
    path = kept(parts, ".cubin", lambda p: p.write_bytes(compiler.compile(text, arch, flags)[0]))
    return path.read_bytes()


@cache
def find_compiler() -> CudaCompiler:
    """Return NVRTC, or the nvcc of a toolkit.

    Raises
    ------
    CompileError
        When there is neither, with what to install.
    """
    tried = []
    for name, load in (("NVRTC", _nvrtc), ("nvcc", _nvcc)):
        try:
            return load()
        except (ImportError, OSError, RuntimeError, subprocess.SubprocessError) as error:
            tried.append(f"{name} ({error!s:.200})")
    raise CompileError(
        f'no compiler of CUDA C++ found: pip install "neurodriver[gpu]"; tried {", ".join(tried)}'
    )


_KERNEL = re.compile(
    r"Compiling entry function '(?P<kernel>[^']+)'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stored>\d+) bytes spill stores, (?P<loaded>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<more>[^\n]*)",
    re.DOTALL,
)


def resources(said: str) -> list[str]:
    """Return a line for each kernel that ``--ptxas-options=-v`` has reported."""
    return [
        f"{found['kernel']}: {found['registers']} registers{found['more']}, {found['stack']} bytes "
        f"stack, {found['stored']} + {found['loaded']} bytes spilled and loaded"
        for found in _KERNEL.finditer(said)
    ]


def _nvrtc() -> CudaCompiler:
    """Return the library of the wheel ``nvidia-cuda-nvrtc``, or of a toolkit."""
    from cuda.bindings import nvrtc  # finds its library at the first call

    version = "{}.{}".format(*_checked(nvrtc, nvrtc.nvrtcVersion()))

    def build(text: str, arch: str, flags: Sequence[str]) -> tuple[bytes, str]:
        known = _checked(nvrtc, nvrtc.nvrtcGetSupportedArchs())[0]
        if int(re.sub(r"\D", "", arch)) not in known:
            raise CompileError(
                f"NVRTC {version} cannot compile for {arch}, only for "
                f"{', '.join(f'sm_{n}' for n in known)}; install an nvidia-cuda-nvrtc that can"
            )
        # what comes out of its cache comes without a word about registers
        flags = [f"--gpu-architecture={arch}", "--no-cache", *flags]
        (program,) = _checked(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), b"text.cu", 0, [], []))
        try:
            (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
            said = _taken(nvrtc, program, "ProgramLog").rstrip(b"\0 \n").decode(errors="replace")
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                command = f"NVRTC {version} with {' '.join(flags)}"
                raise refused("NVRTC", text, said or status.name, command)
            return _taken(nvrtc, program, "CUBIN"), said
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    return CudaCompiler("NVRTC", version, build)


def _checked(nvrtc: Any, answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a function of NVRTC gave beside its status."""
    status, *rest = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
    return tuple(rest)


def _taken(nvrtc: Any, program: Any, what: str) -> bytes:
    (size,) = _checked(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program))
    room = bytearray(size)  # written in place, which a bytes object must never be
    _checked(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, room))
    return bytes(room)


def _nvcc() -> CudaCompiler:
    """Return the compiler of the toolkit on the PATH."""
    program = shutil.which("nvcc")
    if not program:
        raise FileNotFoundError("not on the PATH")
    asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    release = re.search(r"release (.+)", asked.stdout)
    version = release[1] if release else asked.stdout.strip()

    def build(text: str, arch: str, flags: Sequence[str]) -> tuple[bytes, str]:
        with tempfile.TemporaryDirectory(prefix="neurodriver_") as folder:
            source, cubin = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
            source.write_text(text, encoding="utf-8")
            command = [program, "--cubin", f"-arch={arch}", *flags, str(source), "-o", str(cubin)]
            run = subprocess.run(command, capture_output=True, text=True)
            said = run.stderr + run.stdout
            if run.returncode:
                raise refused("nvcc", text, said, " ".join(command))
            return cubin.read_bytes(), said

    return CudaCompiler("nvcc", version, build)
