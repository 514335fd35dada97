"""A Module by itself: its ports, its checks, its life; and what a Manager refuses."""

from __future__ import annotations

import numpy as np
import pytest
from stepping import Counter, Echo, N, chain, ends, relays, run, wire

from neurodriver import Manager
from neurodriver.errors import CircuitError, NeurodriverError, PortError
from neurodriver.parallel.module import Module
from neurodriver.ports import Pattern


def test_ports_and_values() -> None:
    """``inputs`` and ``outputs`` are views of the values that a manager reads and writes."""
    module = Module("/m/in[0:2]", "/m/out[0:2]", "/m/s[1]", "/m/s[0],/x", id="m")
    table = module.ports
    assert table.selector.tolist() == [
        "/m/in/0", "/m/in/1", "/m/out/0", "/m/out/1", "/m/s/1", "/m/s/0", "/x",
    ]  # fmt: skip
    assert table.spike.tolist() == [False] * 4 + [True] * 3
    assert table.out.tolist() == [False, False, True, True, False, True, True]
    module.outputs["gpot"][:] = [1.0, 2.0]
    module.outputs["spike"][1] = True
    np.testing.assert_array_equal(module.read(table.number[table.out]), [1.0, 2.0, 0.0, 1.0])
    module.write(table.number[~table.out], np.array([7.0, 8.0, 1.0]))
    assert module.inputs["gpot"].tolist() == [7.0, 8.0]
    assert module.inputs["spike"].tolist() == [1.0]
    assert (module.id, module.steps, module.max_steps) == ("m", 0, float("inf"))


def test_a_port_is_named_once() -> None:
    """Two ports of one identifier cannot be told apart."""
    with pytest.raises(PortError, match=r"module 'm': port '/m/a/1' is named twice"):
        Module("/m/a[0:2]", spike_out="/m/a[1:3]", id="m")


def test_alone() -> None:
    """``run`` is pre_run, the steps, post_run."""
    echo = Echo("e", id="e")
    echo.run(4)
    assert (echo.steps, echo.max_steps, echo.calls) == (4, 4, ["pre_run", "post_run"])
    assert len(echo.seen) == 4
    with pytest.raises(NeurodriverError, match="whole number"):
        echo.run(-1)


def test_a_manager_gives_the_id() -> None:
    """A Module has the id under which it was added."""
    man = Manager()
    man.add(Counter, "first", "c")
    man.add(Echo, "second", "e")
    man.connect("first", "second", ends(f"/c/v[0:{N}]", "e"))
    assert man.ids == ["first", "second"]
    man.spawn()
    assert [module.id for module in man.modules.values()] == man.ids


def test_connect_says_what_is_wrong() -> None:
    """All of these are ValueErrors."""
    man = chain()
    pattern = wire("/c/v[0]", "/f/in[0]")
    with pytest.raises(ValueError, match="must be a Pattern, got str"):
        man.connect("c", "f", "pattern")
    with pytest.raises(ValueError, match="there is no LPU 'g'"):
        man.connect("c", "g", pattern)
    with pytest.raises(ValueError, match="two different ones of 0, 1, got 0 and 2"):
        man.connect("c", "f", pattern, int_0=0, int_1=2)
    with pytest.raises(ValueError, match="target must be LPU, Module"):
        man.add(dict, "d")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'c' already"):
        man.add(Counter, "c", "c")
    with pytest.raises(ValueError, match="missing a required argument: 'name'"):
        man.add(Counter, "d")


@pytest.mark.parametrize("kind", ["spike", "gpot"])
def test_a_type_in_a_pattern_has_to_agree(kind: str) -> None:
    """Types that a pattern leaves open are those of the ports; others must be the same."""
    man = Manager()
    man.add(Counter, "c", "c")
    man.add(Echo, "e", "e")
    pattern = Pattern("/c/v[0]", "/e/in[0]")
    pattern["/c/v[0]", "/e/in[0]"] = 1
    pattern.interface["/c/v[0]", "type"] = kind
    man.connect("c", "e", pattern)
    if kind == "gpot":
        man.spawn()
    else:
        match = "port '/c/v/0' is of type spike in the pattern and of type gpot in c"
        with pytest.raises(CircuitError, match=match):
            man.spawn()


def test_a_manager_runs_once() -> None:
    """One process exchanges nothing with others, and a second start is refused."""
    man, _ = relays()
    man.spawn()
    man.start(steps=5)
    seconds = man.wait(return_timing=True)
    assert seconds is not None and seconds > 0
    assert [(one.seconds, one.received) for one in man.exchanged] == [(0.0, 0)]
    with pytest.raises(NeurodriverError, match="started already"):
        man.start(steps=1)


def test_zero_steps() -> None:
    """A run of no steps calls what comes before and after."""
    man = chain()
    run(man, 0)
    echo = man.modules["e"]
    assert isinstance(echo, Echo)
    assert (echo.seen, echo.calls) == ([], ["pre_run", "post_run"])
