"""``LPU(keep=...)``: fields that plans compute away by default; and values on other devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from support import DT, all_to_all, simulate, started
from test_merge import kernels, onto_one

import neurodriver as nd
from neurodriver.errors import NeurodriverError

__all__ = ["emulated"]

SPIKES = np.random.default_rng(3).random((200, 16)) < 0.05


def spiking(count: int) -> nd.ArrayInput:
    uids = [f"s{i}" for i in range(count)]
    return nd.ArrayInput({"spike_state": (uids, SPIKES[:, :count].astype(float))})


def test_merged_synapses_are_kept() -> None:
    """They can be read and set; then they have the bits of a circuit with these values."""
    circuit, _ = onto_one("AlphaSynapse", 16)
    with started(circuit, DT, spiking(16)) as lpu:
        for use in (lambda: lpu["s3"].get("g"), lambda: lpu["s3"].set("gmax", 0.5)):
            with pytest.raises(NeurodriverError, match=r"keep=\['AlphaSynapse\.(g|gmax)'\]"):
                use()
    factor = 3.0 * np.arange(1, 17)
    found = []
    for keep in ("AlphaSynapse.g", ["s3.gmax", "AlphaSynapse.g"]):
        with started(circuit, DT, spiking(16), keep=keep) as lpu:
            assert "MergedAlphaSynapse" not in kernels(lpu)
            gmax = factor * lpu.get("gmax")
            lpu.set("gmax", gmax)
            lpu.run(steps=200)
            found.append([np.array(lpu.get(name)) for name in ("g", "V")])
    built = [
        replace(g, params={**g.params, "gmax": gmax}) if g.name == "AlphaSynapse" else g
        for g in circuit.groups
    ]
    changed = circuit.with_parts(built, circuit.connections)
    record = [("g", None), ("V", None)]
    wanted = simulate(changed, DT, 201, spiking(16), record, merge=False)
    for one in found:
        assert np.array_equal(one[0], wanted["g"][-1]) and np.array_equal(one[1], wanted["V"][-1])
    assert np.ptp(found[0][0]) > 0


def test_fused_synapses_are_kept() -> None:
    """The conductance of synapses that are advanced while they are summed; no bit changes."""
    circuit = all_to_all(16, seed=1)
    current = nd.StepInput("I", circuit.populations["HodgkinHuxley2"], 30.0)
    last: list[np.ndarray] = []
    for keep in ((), ["AlphaSynapse.g"]):
        with started(circuit, DT, current, merge=False, keep=keep) as lpu:
            lpu.run(steps=300)
            last.append(np.array(lpu.get("V")))
            assert any("+" in name for name in kernels(lpu))
            if keep:
                g = np.array(lpu.get("g"))
                assert np.array_equal(np.ravel(lpu["AlphaSynapse"].get("g")), g)
                continue
            for get in (lambda: lpu.get("g"), lambda: lpu["AlphaSynapse"].get("g")):
                with pytest.raises(NeurodriverError, match=r"keep=\['AlphaSynapse\.g'\], or rec"):
                    get()
    assert np.array_equal(*last) and np.ptp(last[0]) > 0.1
    wanted = simulate(circuit, DT, 301, current, [("g", None)], merge=False)["g"][-1]
    assert np.array_equal(g, wanted) and np.ptp(g) > 0


def test_what_cannot_be_kept() -> None:
    """All faults at once, with a name that is near."""
    circuit, _ = onto_one("AlphaSynapse", 4)
    with pytest.raises(NeurodriverError) as caught:
        nd.LPU(circuit, DT, keep=["g", "AlphaSynapes.g", "AlphaSynapse.gmx"])
    said = str(caught.value)
    for part in (
        "LPU: keep: 3 faults",
        "'g': name a population or a model and a field, as in 'cells.u'",
        "'AlphaSynapes.g': no component, population or model is called 'AlphaSynapes' (did you",
        "'AlphaSynapse.gmx': AlphaSynapse has no 'gmx' (did you mean 'gmax'?); it has g, ",
    ):
        assert part in said
    with pytest.raises(NeurodriverError, match="LPU: keep"):
        nd.LPU(circuit, DT, keep=3)  # type: ignore[arg-type]


class Tensor:
    """Numbers in the memory of a GPU, as other libraries have them."""

    def __init__(self, number: int, **interface: Any) -> None:
        self.number = number
        if interface:
            self.__cuda_array_interface__ = interface

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number


class Sheet(nd.NDComponent):
    axes, updates, states = ("x",), {"V": "1"}, {"V": nd.State("1", 0.0)}
    fields = {"w": nd.Field(axes="k", default=0.0)}
    update = "V = V + w[0];"


def test_values_on_another_device() -> None:
    """Bad input 23: told where they are and where the LPU is; nothing is changed."""
    cells = nd.Population(Sheet, name="cells", axes={"x": 3}, w=[1.0, 2.0])
    circuit = nd.Circuit([cells])
    with nd.LPU(circuit, 1e-3) as lpu:
        for use in (
            lambda: lpu["cells"].set("V", Tensor(1)),
            lambda: lpu.set("V", Tensor(1)),
            lambda: lpu["cells"].set("w", Tensor(1)),
            lambda: lpu["cells"].set("V", Tensor(1), at={"x": 0}),
        ):
            with pytest.raises(NeurodriverError) as caught:
                use()
            assert "the values are on GPU 1, and the LPU on the CPU; copy them" in str(caught.value)
        assert not lpu.get("V").any() and lpu["cells"].get("w").tolist() == [1.0, 2.0]
    with nd.LPU(circuit, 1e-3, batch=2) as lpu:
        with pytest.raises(NeurodriverError, match="on GPU 0, and the LPU on the CPU"):
            lpu["cells"].set("V", Tensor(0))


def test_values_on_the_gpu_of_the_lpu(emulated: None) -> None:
    """They are taken; those of another GPU, and those with gaps, are refused."""
    circuit, inputs = random_circuit(20, 1)
    with nd.LPU(circuit, DT, inputs, backend="cuda") as lpu:
        lpu.run(20)
        before = np.array(lpu["Twitch"].get("I"))
        shared = lpu["Halving"].shared("V")
        values = np.array(lpu["Halving"].get("V"))
        given = {"shape": (20,), "typestr": "<f8", "data": (shared.address, False), "version": 3}
        lpu["Halving"].set("V", 0.25)
        lpu["Halving"].set("V", shared)
        assert (lpu["Halving"].get("V") == 0.25).all() and np.ptp(values) > 0
        lpu["Halving"].set("V", Tensor(0, **given))
        assert (lpu["Halving"].get("V") == 0.25).all()
        for number, more, said in (
            (1, given, "are on GPU 1, and the LPU on GPU 0"),
            (0, {**given, "strides": (16,)}, "must lie one after the other"),
        ):
            with pytest.raises(NeurodriverError, match=said):
                lpu["Halving"].set("V", Tensor(number, **more))
        assert np.array_equal(lpu["Twitch"].get("I"), before)
