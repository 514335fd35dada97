"""Pools that are recorded: each row is made of the members' values in this row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled import CIRCUITS, KINDS, Flat, Nested, Sheet, flat, nested, of_groups, read, sheet

import neurodriver as nd
from neurodriver.circuit.pools import pool_groups
from neurodriver.errors import RequestError

DT = 1e-3
OWN = [f"own_{kind}" for kind in KINDS]


def run(circuit: nd.Circuit, names: list[str], steps: int = 6, **more: Any) -> nd.Recording:
    recorder = nd.MemoryRecorder([(name, None) for name in names])
    with nd.LPU(circuit, DT, recorders=[recorder], **more) as lpu:
        lpu.run(steps=steps)
    return recorder.recording


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["by a parameter", "along axes", "under a mask", "one group"])
def test_rows_are_made_of_the_members_rows(name: str, dtype: str) -> None:
    """Against plain Python, from row 0 on; recording changes no bit."""
    circuit = CIRCUITS[name]()
    rec = run(circuit, ["V", *OWN], steps=3, dtype=dtype, threads=3)
    (group,) = circuit.groups
    space = circuit.spaces.get(group.layer.population) if group.layer else None
    groups = pool_groups(group, space, OWN[0])
    of = groups.of
    for kind in KINDS:
        rows = rec[f"own_{kind}"]
        for row, V in zip(rows[:], rec.V[:], strict=True):
            wanted = of_groups(kind, V, of, dtype)
            assert np.asarray(row)[: len(wanted)].tobytes() == wanted.tobytes(), kind
    alone = run(circuit, ["V"], steps=3, dtype=dtype, threads=1)
    assert np.array_equal(alone.V[:], rec.V[:]) and np.ptp(rec["own_sum"][:]) > 0


def test_pools_of_pools_and_shapes() -> None:
    """Each level has its rows; along axes they have the shape of the groups."""
    rec = run(nd.Circuit([nested()]), ["V", "pool", "row", "layer", "first"])
    V = rec.V.shaped("nested")
    pool = rec.pool.shaped("nested.pool")
    assert pool.shape == (6, 3, 4) and np.allclose(pool, V.mean(axis=(3, 4)))
    assert np.array_equal(rec.row.shaped("nested.row"), pool.max(axis=2))
    row = rec.row[:]
    assert np.array_equal(rec.layer[:, 0], (row[:, 0] + row[:, 1]) + row[:, 2])
    assert np.array_equal(rec.first[:, 0], pool.reshape(6, -1).argmax(axis=1))
    assert rec.pool.uids[:2] == ["nested.pool/0", "nested.pool/1"]
    assert rec.pool.unit == "1" and rec.first.unit == ""


@pytest.mark.parametrize("order", [None, "listed"])
def test_what_texts_read_stays(order: Any) -> None:
    """A pool of this step, or of the step before, is read and recorded."""
    circuit = read(order)
    with nd.LPU(circuit, DT) as lpu:
        quiet = []
        for _ in range(6):
            quiet.append(np.array(lpu["reader"].val))
            lpu.advance(1)
    rec = run(circuit, ["val", "V", "pool", "layer", "own_sum"], threads=2)
    assert np.array_equal(rec.val[:], quiet)
    assert np.allclose(rec.pool["nested.pool/0"][:], rec.V["nested"][:, :35].mean(axis=1))


def test_what_is_set_counts(tmp_path: Path) -> None:
    """Between runs, and phase by phase; and what a checkpoint has, made with other recorders."""
    circuit = nd.Circuit([sheet(), flat(Flat, 700)])
    recorder = nd.MemoryRecorder([("own_max", None), ("V", None)])
    with nd.LPU(circuit, DT, recorders=[recorder]) as lpu:
        lpu.run(2)
        lpu["sheet"].set("V", 7.0)
        lpu.save(tmp_path / "a.h5")
        lpu.run(2)
        rec = recorder.recording
        own = rec.own_max["sheet.own_max"][:]
        assert (own[2] == 7.0).all() and (own[1] < 7.0).all() and (own[3] < 7.0).any()
        V = rec.V.shaped("sheet")
        assert np.array_equal(rec.own_max.shaped("sheet.own_max"), V.max(axis=2))
        after = np.array(own[3])
    other = nd.MemoryRecorder([("own_max", None)])
    with nd.LPU(circuit, DT, recorders=[other]) as lpu:
        lpu.resume(tmp_path / "a.h5")
        lpu.run(2)
        found = other.recording.own_max["sheet.own_max"][:]
        assert (found[0] == 7.0).all() and np.array_equal(found[1], after)
    with nd.LPU.restore(tmp_path / "a.h5", models=[Flat, Sheet]) as lpu:
        lpu.run(2, record=["own_max"])
        assert (lpu.recording.own_max["sheet.own_max"][0] == 7.0).all()


def test_chosen_groups_copies_and_files(tmp_path: Path) -> None:
    """Some groups by their names; copies of a batch; a file; every second step."""
    circuit = nd.Circuit([nested(), sheet()])
    some = ["nested.pool/5", "nested.pool/2"]
    whole_pool = nd.MemoryRecorder([("nested.pool", None), ("sheet.V", {"t": 1, "x": 0})])
    path = tmp_path / "r.h5"
    recorders = [
        nd.MemoryRecorder([("pool", some), ("V", None)]),
        nd.HDF5Recorder(path, [("pool", None)], sample_interval=2),
    ]
    with nd.LPU(circuit, DT, recorders=[*recorders, whole_pool]) as lpu:
        lpu.run(6)
    assert np.array_equal(whole_pool.recording.pool[:, [5, 2]], recorders[0].recording.pool[:])
    assert whole_pool.recording.V.shape == (6, 300)
    rec, whole = recorders[0].recording, nd.open(path)
    V = rec.V.shaped("nested").reshape(6, 12, 35)
    assert np.allclose(rec.pool[:], V[:, [5, 2]].mean(axis=2))
    assert whole.pool.shaped("nested.pool").shape == (3, 3, 4)
    assert np.array_equal(whole.pool[:][:, [5, 2]], rec.pool[1::2])
    drive = circuit.groups[0].params["drive"]
    batch = nd.Batch(2, parameters={("nested", "drive"): np.stack([drive, 2 * drive])})
    recorder = nd.MemoryRecorder([("pool", None), ("V", None)])
    with nd.LPU(nd.Circuit([nested()]), DT, recorders=[recorder], batch=batch) as lpu:
        lpu.run(4)
    for copy in recorder.recording.copies:
        rows = copy.V[:].reshape(4, 12, 35).mean(axis=2)
        assert np.allclose(copy.pool[:], rows)


def test_lpus_of_a_manager() -> None:
    """Pools of equal names in two LPUs, one of which records them."""
    recorder = nd.MemoryRecorder([("pool", None), ("V", None)])
    manager = nd.Manager()
    manager.add(nd.LPU, "left", nd.Circuit([nested(1)]), dt=DT, recorders=[recorder])
    manager.add(nd.LPU, "right", nd.Circuit([nested(2)]), dt=DT)
    manager.spawn()
    manager.start(steps=5)
    manager.wait()
    rec = recorder.recording
    assert rec.pool.uids[0] == "nested.pool/0"
    assert np.allclose(rec.pool[:], rec.V[:].reshape(5, 12, 35).mean(axis=2))


def test_what_cannot_be_recorded() -> None:
    """Names that nothing has; cells in the place of groups; parts of a circuit."""
    circuit = nd.Circuit([nested()])
    for record, said in (
        ([("pol", None)], "no component updates 'pol' (did you mean 'pool'?)"),
        ([("pool", ["nested/0"])], "'pool'; it is a pool: name its groups, as in '<population>."),
        ([("pool", ["nested.pool/12"])], "'nested.pool/12': no such component updates 'pool'"),
    ):
        with pytest.raises(RequestError) as caught:
            nd.LPU(circuit, DT, recorders=[nd.MemoryRecorder(record)])
        assert said in str(caught.value)
    more = nd.Population("GradedNeuron", 4, bias=0.1, time_constant=4.0)
    parts = np.repeat([0, 1], [420, 4])
    recorder = nd.MemoryRecorder([("pool", None)])
    with pytest.raises(RequestError, match="'pool' is a pool; parts of a circuit record"):
        nd.LPU(nd.Circuit([nested(), more]), DT, recorders=[recorder], parts=parts)
    assert Nested.pools
