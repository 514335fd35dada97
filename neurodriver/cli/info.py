"""``neurodriver info``: what this machine offers, or what a recording holds."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path

import click

from .. import __version__, settings, system
from ..errors import CompileError

PACKAGES = (
    "numpy",
    "networkx",
    "h5py",
    "matplotlib",
    "pyarrow",
    "mpi4py",
    "pycuda",
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "ziglang",
)


def report() -> dict[str, str]:
    """Return what was found, line by line: name -> value."""
    from ..native.compiler import find_compiler

    out = {"neurodriver": __version__, "python": sys.version.split()[0]}
    out["machine"] = f"{platform.system()} {platform.machine()}"
    out["cores"] = str(system.cores())
    try:
        compiler = find_compiler()
        out["compiler"] = f"{' '.join(compiler.command)}: {compiler.version}"
    except CompileError as error:
        out["compiler"] = f"none ({error})"
    out["CUDA compiler"] = _cuda_compiler()
    out["kernel cache"] = str(settings.cache_folder())
    out["gpu"] = _gpus()
    out["mpiexec"] = system.program("mpiexec") or "none"
    for package in PACKAGES:
        try:
            out[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            out[package] = "not installed"
    for name, (default, meaning) in settings.TABLE.items():
        value = os.environ.get(name)
        out[name] = f"{value if value else 'unset'} ({meaning}; default: {default or 'none'})"
    return out


def _cuda_compiler() -> str:
    """Return what compiles kernels for GPUs."""
    from ..backends.cuda.compiler import find_compiler

    try:
        found = find_compiler()
    except CompileError as error:
        return f"none ({error})"
    return f"{found.name} {found.version}"


def _gpus() -> str:
    """Return the NVIDIA devices that the driver shows, with their numbers."""
    import subprocess

    program = shutil.which("nvidia-smi")
    if program is None:
        return "none"
    query = [program, "--query-gpu=index,name,driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "nvidia-smi does not answer"
    return "; ".join(found.stdout.split("\n")).strip("; ") or "none"


@click.command("info")
@click.argument("recording", required=False, type=click.Path(path_type=Path))
def command(recording: Path | None) -> int:
    """Print what RECORDING, or a circuit in HDF5, holds; without it: what this machine offers."""
    if recording is not None:
        from ..io.hdf5 import holds_circuit, summary
        from ..results import open_recording

        if holds_circuit(recording):
            for line in summary(recording):
                click.echo(line)
            return 0

        with open_recording(recording) as opened:
            click.echo(repr(opened))
            for name, value in opened.attributes.items():
                click.echo(f"{name:<20} {value}")
        return 0
    for name, value in report().items():
        click.echo(f"{name:<20} {value}")
    return 0
