"""Values on a GPU between calls: read, set, shared with PyTorch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import IAF

import neurodriver as nd

DT, COUNT = 1e-4, 1000


def simulated() -> nd.LPU:
    """Neurons on a GPU, each with another resistance."""
    cells = nd.Population(
        "LeakyIAF", COUNT, name="cells", **{**IAF, "resistance": np.linspace(9.0, 11.0, COUNT)}
    )
    current = nd.StepInput("I", cells, np.linspace(0.0, 5.0, COUNT))
    return nd.LPU(nd.Circuit([cells]), DT, current, backend="cuda")


@pytest.mark.parametrize("name", ["V", "resistance"])
def test_torch_shares_the_memory(name: str) -> None:
    """The tensor has the LPU's pointer; what is written to it is read by the next step."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    with simulated() as lpu:
        lpu.run(50)
        shared = lpu["cells"].shared(name)
        tensor = torch.from_dlpack(shared)
        assert tensor.data_ptr() == shared.address and tensor.is_cuda
        assert np.array_equal(tensor.cpu().numpy(), lpu.get(name))
        assert shared.read_only == (name == "resistance")
        if not shared.read_only:
            tensor[:] = 9.5
            torch.cuda.synchronize()
            assert set(lpu.get(name)) == {9.5}
            lpu.advance(1)
            assert lpu.get("spike_state").all()  # the step has read it


def test_cupy_shares_the_memory() -> None:
    """What an array of CuPy adds in place is read by the next step."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    with simulated() as lpu:
        lpu.run(5)
        want = lpu.get("V") + 4.0
        array = cupy.asarray(lpu["cells"].shared("V"))
        array += 4.0
        cupy.cuda.Device().synchronize()
        assert np.array_equal(lpu.get("V"), want)


def test_tensors_are_set() -> None:
    """A tensor on the GPU of the LPU is taken, one with gaps is refused."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    with simulated() as lpu:
        lpu.run(5)
        given = torch.linspace(-65.0, -60.0, COUNT, dtype=torch.float64, device="cuda")
        lpu["cells"].set("V", given)
        assert np.array_equal(lpu.get("V"), given.cpu().numpy())
        wide = torch.zeros((COUNT, 2), dtype=torch.float64, device="cuda")
        with pytest.raises(nd.NeurodriverError, match="lie one after the other"):
            lpu["cells"].set("V", wide[:, 0])
        assert np.array_equal(lpu.get("V"), given.cpu().numpy())
    with nd.LPU(lpu.circuit, DT) as one:
        with pytest.raises(nd.NeurodriverError, match="on GPU 0, and the LPU on the CPU"):
            one["cells"].set("V", given)


def test_the_bits_are_those_of_the_cpu() -> None:
    """The same changes between runs, on both backends."""
    found = []
    for backend in ("cpu", "cuda"):
        lpu = simulated()
        lpu.close()
        with nd.LPU(lpu.circuit, DT, lpu.inputs, backend=backend) as one:
            one.run(30, record=["V"])
            one["cells"].threshold = np.linspace(-60.0, -50.0, COUNT)
            one[["cells/3", "cells/7"]].V = [-66.0, -67.0]
            one.run(40)
            one.set("resistance", 8.0)
            one.run(30)
            found.append(one.recording.V[:])
    assert np.array_equal(*found) and np.ptp(found[0]) > 1


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
@pytest.mark.parametrize("least", [1, 8])
def test_weighted_spikes_go_from_backend_to_backend(
    tmp_path: Path, executor: str, least: int
) -> None:
    """Spikes in slots, in lists of pieces and in rows arrive, with windows and without."""
    cell = {
        "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0,
        "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 0.5, "tau_inh": 0.5,
    }  # fmt: skip
    cells = nd.Population("LeakyIAFExpCurrent", COUNT, initV=nd.Uniform(-65.0, -50.0), **cell)
    law = nd.Uniform(least * DT, 30 * DT)
    loop = nd.Projection(cells, cells, nd.FixedInDegree(90), receptor="exc", weight=9.0, delay=law)
    circuit = nd.Circuit([cells], [loop], seed=3)
    drive = [nd.StepInput("I", cells, 700.0)] if least == 1 else []
    if not drive:
        circuit = circuit.with_parts(
            [replace(g, params={**g.params, "resting_potential": -40.0}) for g in circuit.groups],
            circuit.connections,
        )
    with nd.LPU(circuit, DT, drive, backend="cpu") as lpu:
        lpu.run(200, record=["spike_state"])
        expected, spikes = lpu.get("V"), len(lpu.recording.spikes.time)
    assert spikes > COUNT
    for backend in ("cpu", "cuda", "cuda", "cpu"):
        how = {"backend": backend, "executor": executor}
        path = tmp_path / "c.h5"
        lpu = nd.LPU.restore(path, drive, **how) if path.exists() else nd.LPU(circuit, DT, drive)
        with lpu:
            lpu.run(50)
            lpu.save(path)
            found = lpu.get("V")
    assert np.array_equal(found, expected)


def test_steps_wait_for_another_library_on_the_device() -> None:
    """It reads each row on the default stream, and the host waits for neither."""
    steps, rows = 200, []
    cells = nd.Population("IzhikevichNoisy", COUNT, name="cells", noise=5.0)
    circuit = nd.Circuit([cells], seed=2)
    with nd.LPU(circuit, 1e-3, backend="cpu") as alone:
        for _ in range(steps):
            alone.advance(1)
            rows.append(alone["cells"].V)
    with nd.LPU(circuit, 1e-3, backend="cuda") as lpu:
        device, size = lpu.backend.device, 8 * COUNT
        with device.current():
            kept = device.allocate(steps * size)
        queued = 0
        for step in range(steps):
            lpu.advance(1)
            queued += device.following
            shared = lpu["cells"].shared("V")
            shared.__dlpack__(stream=1)
            to, driver = int(kept) + step * size, device.driver
            with device.current():
                driver.cuMemcpyDtoDAsync(to, shared.address, size, device.default)
        assert queued > 0.9 * steps
        found = np.empty((steps, COUNT))
        with device.current():
            device.synchronize()
            device.download(int(kept), found)
        assert np.array_equal(found, rows) and np.ptp(found) > 50
        assert np.array_equal(lpu["cells"].V, rows[-1])
