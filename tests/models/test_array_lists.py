"""Fields that are lists of arrays: ``banks[e][t, i, j]``, with a size for each array."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from layered import OFFSETS, Banked, Pixel, banked, banks

import neurodriver as nd
from neurodriver.errors import LPUExecutionError, ModelError


def windows(image: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Return the sums of the products of a filter with the windows of an image."""
    (h, w), (rows, columns) = filters.shape, image.shape
    padded = np.pad(image, ((h // 2,) * 2, (w // 2,) * 2))
    parts = (filters[i, j] * padded[i : i + rows, j : j + columns] for i, j in np.ndindex(h, w))
    return np.sum(list(parts), axis=0)


def expected(image: np.ndarray, some: list[np.ndarray], offsets: Any) -> dict[str, np.ndarray]:
    """Return what cells of `Banked` compute."""
    val = np.stack([windows(image, one) + windows(image, some[1]) for one in some])
    sizes = np.zeros(3)
    for one in some:
        sizes += 10 * sizes + one.shape[1]
    after = [*some[1:], np.zeros((0, 0))]
    sizes += [1000 * one.shape[0] + (one[0, 0] if one.size else 0) for one in after]
    sizes += [offset[1] for offset in offsets]
    return {"val": val, "sizes": np.broadcast_to(sizes[:, None, None], val.shape)}


def check(lpu: nd.LPU, some: list[np.ndarray], offsets: Any = OFFSETS) -> None:
    lpu.advance(1)
    wanted = expected(np.array(lpu["image"].val), some, offsets)
    for name, values in wanted.items():
        assert np.allclose(lpu["cells"].get(name), values, rtol=1e-12, atol=0), name


def test_they_are_read_and_set() -> None:
    """Whole, one of them, and part of one; threads, plans, and a debugged run of what is there."""
    for how in ({}, {"threads": 3}, {"plans": False}):
        with nd.LPU(banked(), 1e-3, **how) as lpu:
            now = banks()
            check(lpu, now)
            assert [one.shape for one in lpu["cells"].banks] == [(3, 3), (1, 5), (5, 3)]
            assert all(map(np.array_equal, lpu.get("bank"), now))
            now = banks(1)
            lpu["cells"].set("banks", now)
            check(lpu, now)
            lpu.set("bank", 2.0, at={"array": 1, "dx": 0})
            now[1][:, 0] = 2
            check(lpu, now)
            lpu.set("bank", 0.25, at={"array": 2})
            now[2][:] = 0.25
            check(lpu, now)
            lpu.set("offsets", [[1, 7], [1, 8], [1, 9]])
            check(lpu, now, [[1, 7], [1, 8], [1, 9]])
            lpu.set("bank", 0.5)
            check(lpu, [np.full_like(one, 0.5) for one in now], [[1, 7], [1, 8], [1, 9]])
            assert np.array_equal(lpu.get("offsets"), [[1, 7], [1, 8], [1, 9]])


def test_bits_do_not_depend_on_how_it_runs() -> None:
    for dtype in ("float64", "float32"):
        found = []
        for how in ({}, {"threads": 3}, {"plans": False}):
            with nd.LPU(banked(), 1e-3, dtype=dtype, **how) as lpu:
                lpu.advance(2)
                found.append(np.array(lpu["cells"].val).tobytes())
        assert len({*found}) == 1


def test_files_and_digests_keep_them(tmp_path: Path) -> None:
    circuit, path = banked(), tmp_path / "c.h5"
    circuit.save(path)
    again = nd.Circuit.from_file(path, models=[Pixel, Banked])
    assert again.digest == circuit.digest
    with nd.LPU(again, 1e-3) as lpu:
        check(lpu, banks())
        lpu.set("bank", 3.0, at={"array": 0})
        lpu.save(tmp_path / "s.h5")
    with nd.LPU.restore(tmp_path / "s.h5", models=[Pixel, Banked]) as lpu:
        assert (lpu["cells"].banks[0] == 3).all()
        check(lpu, [np.full((3, 3), 3.0), *banks()[1:]])
    flat = [banks()[0].reshape(1, 9), *banks()[1:]]  # the same values in other shapes
    assert (
        nd.Circuit(populations(flat), shared={"offsets": OFFSETS}).digest
        != nd.Circuit(populations(banks()), shared={"offsets": OFFSETS}).digest
    )


def populations(some: Any, **more: Any) -> list[nd.Population]:
    axes = {"y": nd.Axis.span(9, 0, 1), "x": nd.Axis.span(37, 0, 1)}
    image = nd.Population(Pixel, name="image", axes=axes)
    given = {"image": image, "banks": some, **more}
    return [image, nd.Population(Banked, name="cells", axes={"e": 3, **axes}, **given)]


def test_copies_of_a_batch() -> None:
    """Each has a list of its own."""
    with nd.LPU(banked(), 1e-3, batch=2, seed=[1, 2]) as lpu:
        lpu.copies[1]["cells"].set("banks", 2.0, at={"array": 1})
        first, second, third = lpu["cells"].get("banks")
        assert (first.shape, second.shape, third.shape) == ((2, 3, 3), (2, 1, 5), (2, 5, 3))
        assert np.array_equal(second[0], banks()[1]) and (second[1] == 2).all()
        with pytest.raises(nd.NeurodriverError, match="these values are a copy"):
            second[0] = 1.0
        lpu.advance(1)
        for copy, some in ((0, banks()), (1, [banks()[0], np.full((1, 5), 2.0), banks()[2]])):
            wanted = expected(
                np.array(lpu.copies[copy]["image"].val).reshape(9, 37), some, OFFSETS
            )["val"]
            assert np.allclose(lpu.copies[copy]["cells"].val.reshape(wanted.shape), wanted)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda at: at["shapes"].__delitem__("banks"), "shapes/banks: the shape of each array"),
        (lambda at: at["shapes/banks"].write_direct(np.array([[3, 3], [1, 5], [5, 4]])), "for 29"),
        (
            lambda at: at["shapes/banks"].write_direct(np.array([[3, 3], [5, 1], [-5, -3]])),
            "for 29",
        ),
    ],
)
def test_damaged_files(change: Callable[[Any], None], said: str, tmp_path: Path) -> None:
    banked().save(tmp_path / "c.h5")
    with h5py.File(tmp_path / "c.h5", "r+") as file:
        (layer,) = (g["layer"] for g in file["groups"].values() if "shapes" in g.get("layer", {}))
        change(layer)
    with pytest.raises(nd.NeurodriverError) as caught:
        nd.Circuit.from_file(tmp_path / "c.h5", models=[Pixel, Banked])
    assert said in str(caught.value) or "digest" in str(caught.value)


def test_prepare_may_make_them() -> None:
    class Prepared(Banked):
        @classmethod
        def prepare(cls, population: Any) -> dict[str, Any]:
            return {"banks": [np.ones((n, n)) for n in range(1, population.e.count + 1)]}

    axes = {"y": nd.Axis.span(9, 0, 1), "x": nd.Axis.span(37, 0, 1)}
    image = nd.Population(Pixel, name="image", axes=axes, initval=1.0)
    cells = nd.Population(Prepared, name="cells", axes={"e": 3, **axes}, image=image)
    assert [one.shape for one in cells.banks] == [(1, 1), (2, 2), (3, 3)]
    with nd.LPU(nd.Circuit([image, cells], shared={"offsets": OFFSETS}), 1e-3) as lpu:
        lpu.advance(1)
        assert np.array_equal(lpu["cells"].val[:, 4, 4], [1 + 4, 4 + 4, 9 + 4])


def test_debug_names_the_array_that_there_is_not() -> None:
    with nd.LPU(banked(), 1e-3, debug=True) as lpu:
        with pytest.raises(LPUExecutionError) as caught:
            lpu.advance(1)
    said = "Banked.update, line 9: banks[here.e + 1].dy: here.e + 1 is 3, and has to be 0 to 2"
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1.0, "Banked.banks: expected a list of arrays (dy, dx), got 1.0"),
        ([], "expected a list of arrays (dy, dx), got an empty one"),
        ([np.ones((2, 2)), np.ones(3)], "array 1: expected an array (dy, dx), got shape (3,)"),
        ([np.ones((2, 2)), "x"], "array 1: must be numbers"),
        ([[[np.nan]]], "array 0: must be finite"),
    ],
)
def test_bad_values(given: Any, said: str) -> None:
    with pytest.raises(nd.CircuitError) as caught:
        populations(given)
    assert said in str(caught.value)


def test_bad_values_of_a_live_model() -> None:
    wrong: dict[str, Callable[[nd.LPU], None]] = {
        "expected shapes ((3, 3), (1, 5), (5, 3)), got ((3, 3),)": lambda lpu: lpu.set(
            "bank", [np.ones((3, 3))]
        ),
        "say which of the 3 arrays: at={'array': 0": lambda lpu: lpu.set("bank", 1, at={"dy": 0}),
        "no axis 'dz'; its axes are dy, dx": lambda lpu: lpu.set(
            "bank", 1, at={"array": 0, "dz": 1}
        ),
        "array 0: must be finite": lambda lpu: lpu.set("bank", np.inf, at={"array": 0}),
        "array 1: takes whole numbers": lambda lpu: lpu.set("offsets", [[1, 2], [1, 0.5], [1, 1]]),
    }
    with nd.LPU(banked(), 1e-3) as lpu:
        for said, change in wrong.items():
            with pytest.raises(nd.NeurodriverError) as caught:
                change(lpu)
            assert said in str(caught.value)
        check(lpu, banks())


def test_two_values_of_one_name() -> None:
    flat = [banks()[0].reshape(1, 9), *banks()[1:]]
    image, one = populations(nd.Value(banks(), "bank"))
    two = nd.Population(
        Banked, name="two", axes=one.axes, image=image, banks=nd.Value(flat, "bank")
    )
    with pytest.raises(nd.CircuitError, match="two values have the name 'bank'"):
        nd.Circuit([image, one, two], shared={"offsets": OFFSETS})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("val = banks[0];", "'banks' is a list of arrays; say which element: banks[n][dy, dx]"),
        ("val = banks;", "'banks' is a list of arrays; say which element"),
        ("val = banks[0, 1];", "'banks' is a list of arrays; say which element"),
        ("val = banks[0][1];", "'banks[n]' takes 2 indices (dy, dx), 1 given"),
        ("val = banks[0.5][0, 0];", "the index of an array is an integer"),
        ("val = one[0][1];", "'one' is a field and is no list of arrays"),
        ("val = size(banks.dy);", "the arrays of 'banks' have sizes of their own"),
        ("val = size(banks[0].dz);", "'banks' has no axis 'dz'"),
        ("val = size(none[0].dz);", "unknown name 'none'"),
        ("val = banks[0].dy;", "'banks[0].dy' is an axis; its length is size(banks[0].dy)"),
        ("val = count(one);", "'count' takes a source, a list of arrays, or an access"),
        ("banks[0][0, 0] = 1;", "belongs to another cell or population, or is a field"),
        ("val = banks[0][0, 0", "the '[' that stands here is not closed"),
    ],
)
def test_bad_texts(text: str, said: str) -> None:
    fields = {"banks": nd.Field(axes="dy dx", many=True), "one": nd.Field(size=2, default=1.0)}
    body = {"axes": ("y",), "updates": {"val": "1"}, "fields": fields, "update": text}
    with pytest.raises(ModelError) as caught:
        model = type("Cell", (nd.NDComponent,), body)
        cells = nd.Population(model, name="c", axes={"y": 3}, banks=[np.ones((2, 2))])
        nd.LPU(nd.Circuit([cells]), 1e-3)
    assert said in str(caught.value)


def test_bad_declarations() -> None:
    with pytest.raises(ModelError, match="many=True, needs axes= or size="):
        nd.Field(many=True)
    with pytest.raises(ModelError, match="many=True, cannot be constant"):
        nd.Field(axes="i", many=True, constant=True)
