"""Libraries of macOS and Windows: names, flags, and kernels that are compiled for them here."""

from __future__ import annotations

import struct
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import IAF, all_to_all, alone, spiking_network

from neurodriver import Circuit
from neurodriver.circuit import computed, drawing, numbers_drawn
from neurodriver.codegen.generate import generate
from neurodriver.codegen.source import source
from neurodriver.native import compiler
from neurodriver.native.headers import header
from neurodriver.native.platforms import platform_of
from neurodriver.plan.compile import compile_circuit

SYSTEMS = [("Linux", "x86_64"), ("Darwin", "arm64"), ("Windows", "AMD64"), ("FreeBSD", "amd64")]


@pytest.mark.parametrize(("system", "machine"), SYSTEMS)
def test_flags_by_platform(system: str, machine: str) -> None:
    """Each system has a suffix, compilers and flags of its own; unknown ones are like Linux."""
    one = platform_of(system, machine)
    assert one.suffix == {"Darwin": ".dylib", "Windows": ".dll"}.get(system, ".so")
    assert "-shared" in one.flags and one.compilers and one.advice
    assert ("-fPIC" in one.flags) == (system != "Windows")  # an error of clang there
    assert ("g++" in one.compilers) == (system != "Windows")
    assert all(one.spellings[:3]) and all(one.spellings[3:]) == one.x86
    assert one.x86 == (machine in ("x86_64", "AMD64"))


def test_windows_shows_entry_points() -> None:
    """A library of Windows shows what is declared so; other systems get the text as it is."""
    text = 'extern "C" void nd_a(int x) {}\nextern "C" {\nint a;\n}\nextern "C" A *nd_b() {}\n'
    shown = platform_of("Windows", "AMD64").exported(text)
    assert shown.count('extern "C" __declspec(dllexport) ') == 2 and 'extern "C" {' in shown
    assert shown.replace("__declspec(dllexport) ", "") == text
    assert platform_of("Darwin", "arm64").exported(text) == text


def texts() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the step loop and some kernels, as they are compiled on any system."""
    out = {"runtime": (header("backends/cpu/runtime.cpp"), ("-DREAL=double",))}
    for names in (*drawing.DRAWING, computed.SENDING, numbers_drawn.NUMBERS):
        out[names[-1]] = drawing.library_source(names)
    circuits: dict[str, Circuit] = {
        "spikes": spiking_network(50, 3, 1),
        "ampa": all_to_all(33, 1),
        "iaf": alone("LeakyIAF", IAF),
    }
    for name, circuit in circuits.items():
        tasks = generate(compile_circuit(circuit, 1e-4, "float32")).tasks
        for number, task in enumerate(tasks):
            out[f"{name} {number}"] = source(task.kernel, "float32"), ()
    return out


TARGETS = {
    "x86_64-windows-gnu": ("Windows", "AMD64", b"MZ"),
    "aarch64-macos": ("Darwin", "arm64", struct.pack("<I", 0xFEEDFACF)),
}
"""Name of the compiler -> system, machine, how a library begins."""


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_for_other_systems(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler of the ziglang wheel makes libraries of other systems of the same texts."""
    if find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed: pip install 'neurodriver[compiler]'")
    system, machine, magic = TARGETS[target]
    monkeypatch.setattr(compiler, "this_platform", lambda: platform_of(system, machine))
    monkeypatch.setenv("NEURODRIVER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NEURODRIVER_CXX", f"{sys.executable} -m ziglang c++ -target {target}")
    compiler._found.cache_clear()
    try:
        found = compiler.find_compiler()
        assert target in found.command
        for name, (text, extra) in texts().items():
            path = compiler._library(found, text, extra)
            content = path.read_bytes()
            assert content.startswith(magic) and path.suffix == platform_of(system, machine).suffix
            entry = {"runtime": b"nd_run", "projections": b"nd_place"}.get(name, b"nd_")
            assert entry in content, name
            print(f"{target} {name}: {len(content):,} bytes")
    finally:
        compiler._found.cache_clear()
