"""The probes of a GPU: their texts compile anywhere, their figures are taken where there is one."""

from __future__ import annotations

import pytest

from neurodriver.backends.cuda import compiler, probe


@pytest.mark.needs("a CUDA compiler")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (probe.BARRIERS, [f"{width}_barrier" for width in probe.WIDTHS]),
        (probe.chain_text("nd_tanh(x)", "float64"), ["chain"]),
        (probe.chain_text("nd_exp(x)", "float32"), ["chain"]),
    ],
)
def test_texts_compile(text: str, names: list[str], arch: str) -> None:
    cubin = compiler.compile_cubin(text, arch)
    for name in names:
        assert f".text.{name}\0".encode() in cubin


def test_width_is_checked() -> None:
    with pytest.raises(ValueError, match="block, cluster, grid, got 'warp'"):
        probe.barrier_seconds("warp")


@pytest.mark.needs("a GPU")
def test_figures() -> None:
    """Wider barriers take longer; a copy counts both ways; a chain is slower than its length."""
    found = [probe.barrier_seconds(width, threads=128) for width in ("block", "grid")]
    assert 0.0 < found[0] < found[1] < 1e-4
    assert 1e10 < probe.copy_bandwidth(1 << 28) < 1e14
    once, twice = (probe.chain_seconds(x) for x in ("nd_exp(-x)", "nd_exp(-nd_exp(-x))"))
    assert 1e-9 < once < twice < 1e-5
