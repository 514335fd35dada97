"""The probes of a GPU: their texts compile anywhere, their figures are taken where there is one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neurodriver.backends.cuda import compiler, probe

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from benchmarks import device_limits


@pytest.mark.needs("a CUDA compiler")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (device_limits.BARRIERS, [f"{width}_barrier" for width in device_limits.WIDTHS]),
        (device_limits.chain_text("nd_tanh(x)", "float64"), ["chain"]),
        (device_limits.chain_text("nd_exp(x)", "float32"), ["chain"]),
    ],
)
def test_texts_compile(text: str, names: list[str], arch: str) -> None:
    cubin = compiler.compile_cubin(text, arch)
    for name in names:
        assert f".text.{name}\0".encode() in cubin


def test_width_is_checked() -> None:
    with pytest.raises(ValueError, match="block, cluster, grid, got 'warp'"):
        device_limits.barrier_seconds("warp")


@pytest.mark.needs("a GPU")
def test_figures() -> None:
    """Wider barriers take longer; a copy counts both ways; a chain is slower than its length."""
    found = [device_limits.barrier_seconds(width, threads=128) for width in ("block", "grid")]
    assert 0.0 < found[0] < found[1] < 1e-4
    assert 1e10 < probe.copy_bandwidth(1 << 28) < 1e14
    once, twice = (device_limits.chain_seconds(x) for x in ("nd_exp(-x)", "nd_exp(-nd_exp(-x))"))
    assert 1e-9 < once < twice < 1e-5
