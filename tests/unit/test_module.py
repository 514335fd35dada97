"""A Module by itself: its ports, its checks, its life; and what a Manager refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepping import Counter, Echo, N, chain, ends, relays, run, wire

from neurodriver import Manager
from neurodriver.errors import CircuitError, NeurodriverError, PortError
from neurodriver.parallel.module import Module
from neurodriver.ports import Pattern, RoutingTable

GOOD = {
    "sel": "/m/in[0:2],/m/out[0:2],/m/s[0:2]",
    "sel_in": "/m/in[0:2],/m/s[0]",
    "sel_out": "/m/out[0:2],/m/s[1]",
    "sel_gpot": "/m/out[0:2],/m/in[0:2]",
    "sel_spike": "/m/s[0:2]",
    "data_gpot": np.arange(4.0),
    "data_spike": np.zeros(2),
}


def test_ports_and_data() -> None:
    """Port lists go by the interface, values by the selectors of their type."""
    module = Module(**GOOD, id="m")
    assert module.in_gpot_ports == [("m", "in", 0), ("m", "in", 1)]
    assert module.out_gpot_ports == [("m", "out", 0), ("m", "out", 1)]
    assert module.in_spike_ports == [("m", "s", 0)]
    assert module.out_spike_ports == [("m", "s", 1)]
    np.testing.assert_array_equal(module.pm["gpot"][module.in_gpot_ports], [2.0, 3.0])
    module.pm["gpot"][module.out_gpot_ports] = [7.0, 8.0]
    np.testing.assert_array_equal(module.data["gpot"], [7.0, 8.0, 2.0, 3.0])
    np.testing.assert_array_equal(GOOD["data_gpot"], np.arange(4.0))  # a copy was taken
    assert module.interface.to_tuples(0) == module.interface.to_tuples()
    assert (module.id, module.steps, module.max_steps) == ("m", 0, float("inf"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sel_in": "/m/x"}, "sel_in has ports that are not in sel"),
        ({"sel_out": "/other/x"}, "sel_out has ports that are not in sel"),
        ({"sel_spike": "/m/t[0:2]"}, "sel_spike has ports that are not in sel"),
        ({"sel_out": "/m/in[0]"}, "sel_in and sel_out have ports in common"),
        ({"sel_gpot": "/m/s[0],/m/in[0:3]"}, "sel_gpot has ports that are not in sel"),
        ({"sel_gpot": "/m/in[0:2],/m/out[0],/m/s[0]"}, "sel_gpot and sel_spike have ports in"),
        ({"data_gpot": np.zeros(3)}, "data_gpot must be 4 numbers"),
        ({"data_spike": None}, "data_spike must be 2 numbers"),
        ({"data_spike": ["a", "b"]}, "data_spike must be 2 numbers"),
        ({"columns": ["io"]}, "needs the column 'interface'"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], message: str) -> None:
    """As a ValueError, and as the AssertionError that older scripts expect."""
    with pytest.raises(PortError, match=message) as raised:
        Module(**{**GOOD, **changed}, id="m")
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, AssertionError)


def test_a_routing_table_has_to_know_the_id() -> None:
    """An empty one need not."""
    table = RoutingTable()
    Module(**GOOD, id="m", routing_table=table)
    table["a", "b"] = {"pattern": None}
    with pytest.raises(ValueError, match="knows only a, b"):
        Module(**GOOD, id="m", routing_table=table)


def test_ports_without_type_or_direction_are_not_routed() -> None:
    """They are in the interface only."""
    module = Module(**{**GOOD, "sel": GOOD["sel"] + ",/m/free"}, id="m")
    assert len(module.interface) == 7
    table = module.port_table()
    assert table.selector.tolist() == [f"/m/{p}/{i}" for p in ("in", "out", "s") for i in (0, 1)]
    assert table.spike.tolist() == [False] * 4 + [True] * 2
    assert table.out.tolist() == [False, False, True, True, False, True]


def test_alone() -> None:
    """``run`` is pre_run, the steps, post_run."""
    echo = Echo("e", id="e")
    echo.run(4)
    assert (echo.steps, echo.max_steps, echo.calls) == (4, 4, ["pre_run", "post_run"])
    assert len(echo.seen) == 4
    with pytest.raises(NeurodriverError, match="whole number"):
        echo.run(-1)


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    """Each level has its method."""
    module = Module(**GOOD, id="m")
    with caplog.at_level("DEBUG"):
        for level in ("debug", "info", "warning", "error", "critical"):
            getattr(module, f"log_{level}")(f"a message for {level}")
    assert [r.levelname.lower() for r in caplog.records] == [r.message[14:] for r in caplog.records]
    assert len(caplog.records) == 5


class Told(Counter):
    """Takes whatever it is given, as older subclasses do."""


def test_a_manager_supplies_what_the_constructor_takes() -> None:
    """Id, ranks and routing table; ``device`` is taken and kept."""
    man = Manager()
    man.add(Told, "first", "c", device=7)
    man.add(Echo, "second", "e")
    man.connect("first", "second", ends(f"/c/v[0:{N}]", "e"))
    assert len(man) == 2
    assert man.rank_to_id == {0: "first", 1: "second"}
    assert man.rank_to_id.inv == man.rank_to_id.inverse == {"first": 0, "second": 1}
    assert man.routing_table.connections == [("first", "second")]
    man.spawn()
    module = man.modules["first"]
    assert (module.id, module.device) == ("first", 7)
    assert module.routing_table is man.routing_table
    assert module.rank_to_id == man.rank_to_id


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


def test_one_process_exchanges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of exchanging are 0, and ``timed_wait`` prints the seconds."""
    man, _ = relays()
    man.spawn()
    man.start(steps=5)
    seconds = man.timed_wait()
    assert seconds > 0
    assert capsys.readouterr().out == f"Execution completed in {seconds} seconds\n"
    assert man.average_step_sync_time == man.average_throughput == man.total_throughput == 0
    with pytest.raises(NeurodriverError, match="started already"):
        run_again(man)


def run_again(man: Manager) -> None:
    """Start a manager that has run."""
    man.start(steps=1)


def test_zero_steps() -> None:
    """A run of no steps calls what comes before and after."""
    man = chain()
    run(man, 0)
    echo = man.modules["e"]
    assert isinstance(echo, Echo)
    assert (echo.seen, echo.calls) == ([], ["pre_run", "post_run"])
