"""Pools: what cells of a population share, against plain Python, by all ways to run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled import (
    CIRCUITS,
    KINDS,
    Flat,
    Whole,
    Whole20,
    flat,
    multiples,
    nested,
    of_groups,
    read,
)  # fmt: skip

import neurodriver as nd
from neurodriver.errors import ModelError


def values(circuit: nd.Circuit, steps: int, **settings: Any) -> dict[str, np.ndarray]:
    """Return all variables and pools of all populations after some steps."""
    chunk = settings.pop("chunk", steps)
    found = {}
    with nd.LPU(circuit, dt=1e-3, **settings) as lpu:
        for first in range(0, steps, chunk):
            lpu.advance(min(chunk, steps - first))
        for name, members in circuit.populations.items():
            for variable in (*members.model.updates, *members.model.pools):
                found[f"{name}.{variable}"] = np.array(lpu[name].get(variable))
    return found


def step_of_flat(V: np.ndarray, drive: np.ndarray, dtype: str) -> np.ndarray:
    real = np.dtype(dtype).type
    return np.where(real(1.2) < V, real(0), real(0.9) * V + drive).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["by a parameter", "along axes", "under a mask", "one group"])
def test_every_reduction_has_the_bits_of_plain_python(name: str, dtype: str) -> None:
    """Groups along axes and by a parameter, scattered, empty, and larger than a block."""
    circuit = CIRCUITS[name]()
    population, group = next(iter(circuit.populations)), circuit.groups[0]
    if name == "by a parameter":
        of, shape = group.params["column"].astype(int), (4,)
    elif name == "one group":
        of, shape = np.zeros(group.count, int), ()
    else:
        indices = circuit.spaces["sheet"].indices
        of, shape = indices[:, 0] * 3 + indices[:, 2], (2, 3)
    V = group.params["initV"].astype(dtype)
    drive = group.params["drive"].astype(dtype)
    many = 3 if name != "one group" else 2
    with nd.LPU(circuit, dt=1e-3, dtype=dtype) as lpu:
        for _ in range(many):
            wanted = {kind: of_groups(kind, V, of, dtype) for kind in KINDS}
            for kind in KINDS:
                now = lpu[population].get(f"own_{kind}")
                full = np.full(
                    int(np.prod(shape)), {"product": 1, "argmax": -1}.get(kind, 0), dtype
                )
                full[: len(wanted[kind])] = wanted[kind]
                assert now.shape == shape
                assert np.asarray(now).tobytes() == full.tobytes(), kind
            lpu.advance(1)
            for kind in KINDS:
                seen = np.ravel(lpu[population].get(f"p_{kind}"))
                assert np.array_equal(seen, wanted[kind][of]), kind
            V = step_of_flat(V, drive, dtype)
            assert np.array_equal(np.ravel(lpu[population].V), V)
    assert len(np.unique(V)) > 100


def test_pools_of_pools() -> None:
    """Columns, rows of them, and the layer; with an index, groups of other cells."""
    circuit = nd.Circuit([nested()])
    V = circuit.groups[0].params["initV"].reshape(3, 4, 5, 7)
    drive = circuit.groups[0].params["drive"].reshape(V.shape)
    with nd.LPU(circuit, dt=1e-3) as lpu:
        for _ in range(3):
            pool = np.array([of_groups("mean", V[i, j].ravel(), np.zeros(35, int), "float64")[0]
                             for i, j in np.ndindex(3, 4)]).reshape(3, 4)  # fmt: skip
            row = pool.max(axis=1)
            layer = (row[0] + row[1]) + row[2]
            assert np.array_equal(lpu["nested"].pool, pool)
            assert np.array_equal(lpu["nested"].row, row) and lpu["nested"].layer == layer
            assert lpu["nested"].first == np.argmax(pool)
            lpu.advance(1)
            a, b, c, d = (np.array(lpu["nested"].get(v)) for v in "abcd")
            assert (a == pool[:, :, None, None]).all() and (c == layer).all()
            assert (b == row[:, None, None, None]).all()
            more = np.argmax(pool) + 100 * pool[:, 1, None, None, None] + row[0]
            assert np.array_equal(d, np.broadcast_to(more, d.shape))
            V = V - 0.1 * pool[:, :, None, None] + drive
            assert np.array_equal(lpu["nested"].V, V)


@pytest.mark.parametrize("order", [None, "listed", [["reader"], ["nested", "flat"]]])
def test_pools_of_others(order: Any) -> None:
    """Of the step before; of this step, where the population belongs to an earlier phase."""
    with nd.LPU(read(order), dt=1e-3) as lpu:
        for _ in range(3):
            before = pools_now(lpu)
            lpu.advance(1)
            layer, pool, total, best = pools_now(lpu) if order == "listed" else before
            k = np.arange(4)
            assert np.array_equal(lpu["reader"].val, layer + pool[1])
            assert np.array_equal(lpu["reader"].far, total[k] + 2 * best[k])


def pools_now(lpu: nd.LPU) -> list[np.ndarray]:
    a, b = lpu["nested"], lpu["flat"]
    return [np.array(x) for x in (a.layer, a.pool, b.own_sum, b.own_argmax)]


@pytest.mark.parametrize("name", CIRCUITS)
def test_bits_do_not_depend_on_how_it_runs(name: str) -> None:
    """Threads, chunks, plans; and a run that goes on from a state."""
    circuit = CIRCUITS[name]()
    wanted = values(circuit, 5, threads=1, plans=False)
    ways: list[dict[str, Any]] = [{"threads": 3}, {"threads": 2, "chunk": 2}]
    for way in ways:
        for key, found in values(circuit, 5, **way).items():
            assert found.tobytes() == wanted[key].tobytes(), (key, way)


def test_values_that_are_set_count_in_the_next_step(tmp_path: Path) -> None:
    """What is set, and what is restored, is what the pool of the next step is made of."""
    circuit = nd.Circuit([flat(Whole, 1000)])
    with nd.LPU(circuit, dt=1e-3) as lpu:
        lpu.advance(2)
        lpu.save(tmp_path / "state.h5")
        total = lpu["whole"].own_sum
        lpu["whole"].set("V", 0.5)
        assert lpu["whole"].own_sum == 500
        lpu.advance(1)
        assert (lpu["whole"].p_sum == 500).all() and (lpu["whole"].p_argmax == 0).all()
    with nd.LPU.restore(tmp_path / "state.h5", models=[Whole]) as lpu:
        assert lpu["whole"].own_sum == total != 500
        lpu.advance(1)
        assert (lpu["whole"].p_sum == total).all()


def test_what_is_injected_is_a_member() -> None:
    """Of a population that holds what is injected: of this step, and of the step before."""
    image = nd.Population(Image, name="image", axes={"y": 2, "x": 3})
    reader = nd.Population(Brightest, name="reader", axes={"k": 1}, image=image)
    frames = np.arange(24.0).reshape(4, 6)
    given = nd.ArrayInput({"val": (image.uids.tolist(), frames)})
    for order, late in (("listed", 0), (None, 1)):
        circuit = nd.Circuit([image, reader], order=order)
        record = nd.MemoryRecorder([("top", None), ("mean", None), ("whole", None)])
        with nd.LPU(circuit, 1e-3, [given], [record]) as lpu:
            lpu.run(steps=4)
        seen = np.asarray(record.recording["top"])[:, 0]
        wanted = np.concatenate([np.zeros(late + 1), frames.max(axis=1)])[:4]
        assert np.array_equal(seen, wanted)  # row 0 is the initial state
        whole = np.asarray(record.recording["whole"])[:, 0]
        wanted = np.concatenate([np.zeros(late + 1), frames[:, 3:].sum(axis=1)])[:4]
        assert np.array_equal(whole, wanted)


def in_multiples(values: np.ndarray, of: float, dtype: str) -> float:
    """Return the sum of whole multiples of a number, by plain Python."""
    real = np.dtype(dtype).type
    units = [int(np.rint(real(one) * real(1 / of))) for one in values]
    return float(real(sum(units)) * real(of))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", [None, "listed"])
def test_pools_of_whole_multiples(order: Any, dtype: str) -> None:
    """Of one group, by a parameter, along an axis; of this step, and of the step before."""
    circuit = multiples(order)
    real, column = np.dtype(dtype).type, circuit.groups[0].params["column"].astype(int)
    with nd.LPU(circuit, dt=1e-3, dtype=dtype) as lpu:

        def pools() -> tuple[float, np.ndarray, np.ndarray]:
            V, rows = np.array(lpu["whole20"].V), np.array(lpu["rows"].V)
            members = [V[column == g] for g in range(4)]
            sums = [real(in_multiples(m, 0.001, dtype)) / real(max(len(m), 1)) for m in members]
            means = [real(in_multiples(one, 2.0**-20, dtype)) / real(70) for one in rows]
            return in_multiples(V, 2.0**-20, dtype), np.array(sums), np.array(means)

        for _ in range(3):
            before = pools()
            assert lpu["whole20"].all == before[0] and np.array_equal(lpu["rows"].row, before[2])
            assert np.array_equal(lpu["whole20"].mine, before[1])
            lpu.advance(1)
            assert (lpu["whole20"].p_all == before[0]).all()
            assert np.array_equal(lpu["whole20"].p_mine, before[1][column])
            assert (lpu["whole20"].p_top == before[1].max()).all()
            assert np.array_equal(lpu["rows"].near, np.repeat(before[2], 70).reshape(5, 70))
            total, mine, rows = pools() if order == "listed" else before
            wanted = real(total) + real(2) * mine + real(3) * rows[:4]
            assert np.array_equal(lpu["reader"].val, wanted.astype(dtype))
            assert abs(total) > 1 and np.ptp(mine) > 0.01 and np.ptp(rows) > 0.01


def test_multiples_beyond_the_greatest_one() -> None:
    """A value counts as 2^38 multiples at most."""
    circuit = nd.Circuit([flat(Whole20, 40)])
    with nd.LPU(circuit, dt=1e-3) as lpu:
        lpu["whole20"].set("V", 2.0**19)
        assert lpu["whole20"].all == 40 * 2.0**18
        lpu.advance(1)
        assert (lpu["whole20"].p_all == 40 * 2.0**18).all()


@pytest.mark.parametrize("multiple", [np.float32(2.0**-64), np.int64(1), 2.0**64, 0.1])
def test_any_number_of_which_values_are_multiples(multiple: Any, dtype: str) -> None:
    """The pool is that of the values, rounded to multiples of the number."""
    pools = {"total": nd.Reduce("sum", "V", multiple_of=multiple)}
    states, updates = {"V": nd.State("1", 0.0)}, {"V": "1", "read": "1"}
    body = {"pools": pools, "updates": updates, "states": states, "update": "read = here.total;"}
    circuit = nd.Circuit([nd.Population(type("Kept", (nd.NDComponent,), body), 100, name="kept")])
    values = np.random.default_rng(1).normal(size=100) * 20 * float(multiple)
    with nd.LPU(circuit, dt=1e-3, dtype=dtype) as lpu:
        lpu["kept"].set("V", values)
        lpu.advance(1)
        total = np.rint(values / float(multiple)).sum() * float(multiple)
        assert np.allclose(lpu["kept"].read, total, rtol=1e-6, atol=0)
        assert total != 0 and np.isclose(lpu["kept"].total, total, rtol=1e-6)


def test_single_phases() -> None:
    """Pools belong to the phase before them, or to the first one."""
    circuit = read("listed")
    with nd.LPU(circuit, dt=1e-3) as lpu, nd.LPU(circuit, dt=1e-3) as other:
        for _ in range(2):
            before = pools_now(lpu)
            for phase in range(3):
                assert np.array_equal(lpu["reader"].val, other["reader"].val), phase
                lpu.advance_phase()
            assert not np.array_equal(pools_now(lpu)[1], before[1])
            other.advance(1)
            assert np.array_equal(lpu["reader"].val, other["reader"].val)


def test_what_is_set_between_phases_belongs_to_pools_of_the_next_step() -> None:
    """The pool of a step has the values that the phase has computed."""
    circuit = multiples("listed")
    with nd.LPU(circuit, dt=1e-3) as lpu, nd.LPU(circuit, dt=1e-3) as other:
        lpu.advance_phase()
        lpu["whole20"].set("V", 3.0)
        for one in (lpu, other):
            one.advance(1)
        assert np.array_equal(lpu["reader"].val, other["reader"].val)
        assert lpu["whole20"].all == 2100 and other["whole20"].all != 2100
        for one in (lpu, other):
            one.advance(1)
        assert (lpu["whole20"].p_all == 2100).all()
        assert not np.array_equal(lpu["reader"].val, other["reader"].val)


READ = {"one": "q = one.all;", "by number": "q = one.all;", "many": "for (s : one) q += s.all;"}


@pytest.mark.parametrize("way", READ)
def test_a_source_that_names_a_pool_of_one_group(way: str) -> None:
    """A population without axes reads it, too."""
    source = nd.Source("all", by_number=way == "by number", many=way == "many")
    body = {"updates": {"q": "1"}, "sources": {"one": source}, "update": f"q = 0; {READ[way]}"}
    cells = flat(Whole20, 700)
    given: Any = [cells] if way == "many" else cells
    reader = nd.Population(type("Total", (nd.NDComponent,), body), 3, name="reader", one=given)
    with nd.LPU(nd.Circuit([cells, reader]), dt=1e-3) as lpu:
        lpu.advance(2)
        total = float(lpu["whole20"].all)
        lpu.advance(1)
        assert total != 0 and (lpu["reader"].q == total).all()


def test_batches() -> None:
    """Each copy has pools of its own; on a CPU."""
    circuit = nd.Circuit([flat(Whole, 300)])
    drive = circuit.groups[0].params["drive"]
    batch = nd.Batch(2, parameters={("whole", "drive"): np.stack([drive, 2 * drive])})
    with nd.LPU(circuit, dt=1e-3, batch=batch) as lpu, nd.LPU(circuit, dt=1e-3) as alone:
        lpu.advance(3)
        alone["whole"].set("drive", 2 * drive)
        alone.advance(3)
        assert np.array_equal(lpu.copies[1]["whole"].p_sum, alone["whole"].p_sum)
        assert not np.array_equal(lpu.copies[0]["whole"].p_sum, alone["whole"].p_sum)
        assert lpu["whole"].get("own_sum")[1] == alone["whole"].own_sum
    batch = nd.Batch(2, parameters={("flat", "column"): [0, 1]})
    with pytest.raises(nd.CircuitError, match="cannot differ between copies"):
        nd.LPU(nd.Circuit([flat(Flat, 30)]), dt=1e-3, batch=batch)


class Image(nd.NDComponent):
    axes, updates = ("y", "x"), {"val": "1"}
    pools = {
        "top": nd.Reduce("max", "val"),
        "mean": nd.Reduce("mean", "val", over="x"),
        "whole": nd.Reduce("sum", "val", over="x", multiple_of=1),
    }


class Brightest(nd.NDComponent):
    axes, updates = ("k",), {"top": "1", "mean": "1", "whole": "1"}
    sources = {"image": nd.Source(model=Image)}
    update = "top = image.top; mean = image.mean[1]; whole = image.whole[1];"


def of_class(**body: Any) -> type:
    """Return a class with pools."""
    own = {"axes": ("y", "x"), "updates": {"val": "1"}, "params": {"col": nd.Parameter("1", 0.0)}}
    return type("Pooled", (nd.NDComponent,), {**own, **body})


AXES = {"y": 2, "x": 2}


def made(cls: type, **more: Any) -> nd.LPU:
    cells = nd.Population(cls, name="cells", **{"axes": AXES, **more})
    return nd.LPU(nd.Circuit([cells]), dt=1e-3)


@pytest.mark.parametrize(
    ("pools", "text", "said"),
    [
        ({"a": ("mean", "V")}, "", "'V' is no updated variable and no pool before it"),
        ({"a": ("mean", "val", "z")}, "", "no axis 'z'; it has y, x"),
        ({"a": ("mean", "val", "y"), "b": ("max", "a", "y")}, "", "no axis 'y'; it has x"),
        ({"a": ("mean", "val", None, "cool")}, "", "no parameter 'cool' (did you mean 'col'?)"),
        ({"y": ("mean", "val")}, "", "the name is that of an axis or a variable"),
        ({"a": ("mean", "val")}, "val = here.b;", "the cell itself has no 'b'"),
        ({"a": ("mean", "val", "y")}, "val = here.a[0, 0];", "here.a[x], 2 given"),
        ({"a": ("mean", "val", "y")}, "here.a[0] = 1;", "belongs to another cell"),
        ({"a": ("mean", "val")}, "val = here.a[0];", "takes its group"),
    ],
)
def test_bad_pools(pools: dict[str, tuple[Any, ...]], text: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        named = {n: nd.Reduce(*p[:2], *p[2:]) for n, p in pools.items()}
        made(of_class(pools=named, update=text or "val = 1;"))
    assert said in str(caught.value)


def test_bad_reductions() -> None:
    """What a reduction is made of, and over what."""
    for given, said in [
        ((("median", "V"), {}), "no reduction 'median'"),
        ((("means", "V"), {}), "did you mean 'mean'?"),
        ((("sum", "2V"), {}), "name of a variable"),
        ((("sum", "V"), {"over": "y y"}), "each once"),
        ((("sum", "V"), {"over": "y", "by": "column"}), "or the name of a parameter"),
        ((("max", "V"), {"multiple_of": 1}), "is for a sum or a mean (got 'max')"),
        ((("sum", "V"), {"multiple_of": 0}), "is a number from 2^-64 to 2^64 (got 0)"),
        ((("sum", "V"), {"multiple_of": "1"}), "is a number from 2^-64 to 2^64 (got '1')"),
        ((("sum", "V"), {"multiple_of": True}), "is a number from 2^-64 to 2^64 (got True)"),
        ((("sum", "V"), {"multiple_of": 5e-324}), "is a number from 2^-64 to 2^64 (got 5e-324)"),
        ((("sum", "V"), {"multiple_of": 10**400}), "is a number from 2^-64 to 2^64 (got 1000"),
    ]:
        with pytest.raises(ModelError) as caught:
            nd.Reduce(*given[0], **given[1])
        assert said in str(caught.value)


def test_bad_groups() -> None:
    """Axes and labels that a population does not have; what is said of the whole."""
    labels = of_class(pools={"a": nd.Reduce("sum", "val", by="col")}, update="val = here.a;")
    for value, said in ((0.5, "whole, from 0"), (-1, "is -1;"), (1e9, "is 1e+09;")):
        with pytest.raises(nd.CircuitError) as caught:
            made(labels, col=value)
        assert said in str(caught.value) and "population 'cells'" in str(caught.value)

    class Loose(nd.NDComponent):
        updates, update = {"r": "1"}, "r = here.a;"
        pools = {"a": nd.Reduce("mean", "r", over="y")}

    with pytest.raises(nd.CircuitError, match="no axis 'y'; the axes are z"):
        made(Loose, axes={"z": 3})
    with pytest.raises(nd.CircuitError, match="no axis 'y'; the axes are none"):
        nd.Circuit([nd.Population(Loose, 3)])
    with made(labels, col=1) as lpu:
        with pytest.raises(nd.NeurodriverError, match="says which cells are a group of a pool"):
            lpu["cells"].set("col", 0)
        with pytest.raises(nd.NeurodriverError, match="belongs to the whole population"):
            lpu[["cells/0", "cells/1"]].get("a")
        assert "a" in lpu["cells"].names and lpu["cells"].a.shape == (2,)
