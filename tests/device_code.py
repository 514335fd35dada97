"""Compiles texts for a GPU, on a machine without one."""

from __future__ import annotations

import re

from neurodriver.backends.cuda import compiler

QUICK = "--Ofast-compile=max"
"""Leaves out what makes a text fast: it is compiled in a fourth of the time."""

NO_CODE = "--fdevice-syntax-only"
"""Ends after names, types and templates: that takes a tenth of the time of ``QUICK``."""


def check_text(text: str, arch: str = "sm_90", whole: bool = True) -> bytes:
    """Return the machine code of a text that the compiler takes without a warning.

    Without ``whole`` no code is made: for variants of a text that is compiled elsewhere. Then only
    too much memory, assembly and functions without a body would not be found.
    """
    found = compiler.find_compiler()
    new = found.name == "NVRTC" and int(found.version.split(".")[0]) >= 13
    quick = [QUICK if whole else NO_CODE] if new else []
    cubin, said = found.compile(text, arch, [*compiler.FLAGS, *quick])
    assert cubin.startswith(b"\x7fELF")
    assert "warning" not in said, said
    return cubin


def told_resources(text: str, arch: str = "sm_90") -> list[str]:
    """Return what is told of each kernel of a text that is compiled to be fast."""
    cubin, said = compiler.find_compiler().compile(
        text, arch, [*compiler.FLAGS, "--ptxas-options=-v"]
    )
    assert cubin.startswith(b"\x7fELF")
    assert "warning" not in said, said
    return compiler.resources(said)


def check_no_spills(text: str, arch: str = "sm_90") -> list[str]:
    """Return what is told of each kernel; none keeps a register in memory."""
    told = told_resources(text, arch)
    assert told and all("0 + 0 bytes spilled" in line for line in told), told
    return told


def declared_bytes(text: str, arch: str = "sm_90") -> int:
    """Return the bytes of shared memory that the kernel of the step loop declares itself."""
    found = compiler.find_compiler()
    _, said = found.compile(text, arch, [*compiler.FLAGS, "--ptxas-options=-v"])
    own = re.search(r"Compiling entry function 'nd_advance'.*?(\d+) bytes smem", said, re.DOTALL)
    assert own, said
    return int(own[1])
