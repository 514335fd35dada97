"""The old ``Module``: its ports, its checks, its life, and what the old Manager gives to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepping import N, relays, wire

from neurodriver.compat.core_gpu import Manager, Module
from neurodriver.compat.ports import RoutingTable
from neurodriver.errors import PortError

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
    table = module.ports
    assert table.selector.tolist() == [f"/m/{p}/{i}" for p in ("in", "out", "s") for i in (0, 1)]
    assert table.spike.tolist() == [False] * 4 + [True] * 2
    assert table.out.tolist() == [False, False, True, True, False, True]


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    """Each level has its method."""
    module = Module(**GOOD, id="m")
    with caplog.at_level("DEBUG"):
        for level in ("debug", "info", "warning", "error", "critical"):
            getattr(module, f"log_{level}")(f"a message for {level}")
    assert [r.levelname.lower() for r in caplog.records] == [r.message[14:] for r in caplog.records]
    assert len(caplog.records) == 5


class OldCounter(Module):
    """Publishes ``1 + step + place`` at its graded ports and spikes at every third step."""

    def __init__(self, name: str, **given: Any) -> None:
        gpot, spike = f"/{name}/v[0:{N}]", f"/{name}/s[0:{N}]"
        every = f"{gpot},{spike}"
        super().__init__(every, "", every, gpot, spike, np.zeros(N), np.zeros(N, int), **given)

    def run_step(self) -> None:
        super().run_step()
        self.pm["gpot"][self.out_gpot_ports] = 1.0 + self.steps + np.arange(N)
        self.pm["spike"][self.out_spike_ports] = int(self.steps % 3 == 0)


class OldEcho(Module):
    """Remembers what comes in; its ports are listed in another order than their values."""

    def __init__(self, name: str, **given: Any) -> None:
        into, spike = f"/{name}/in[0:{N}]", f"/{name}/spk[0:{N}]"
        both, start = f"{into},{spike}", np.full(N, -1.0)
        backwards = ",".join(f"/{name}/in[{i}]" for i in reversed(range(N)))
        super().__init__(both, both, "", backwards, spike, start, np.zeros(N), **given)
        self.seen: list[Any] = []
        self.spikes: list[Any] = []

    def run_step(self) -> None:
        self.seen.append(self.pm["gpot"][self.in_gpot_ports])
        self.spikes.append(self.pm["spike"][self.in_spike_ports])


def test_values_arrive_one_step_later() -> None:
    """Between old Modules, graded values and spikes of one pattern."""
    man = Manager()
    man.add(OldCounter, "c", "c")
    man.add(OldEcho, "e", "e")
    ends = f"/c/v[0:{N}],/c/s[0:{N}]", f"/e/in[0:{N}],/e/spk[0:{N}]"
    man.connect("c", "e", wire(*ends))
    man.spawn(bind_to="none")
    man.start(steps=7)
    man.wait()
    echo = man.modules["e"]
    assert isinstance(echo, OldEcho)
    np.testing.assert_array_equal(echo.seen[0], -1.0)
    np.testing.assert_array_equal(echo.seen[1:], 1.0 + np.arange(6)[:, None] + np.arange(N))
    np.testing.assert_array_equal(np.array(echo.spikes)[:, 0], [0, 1, 0, 0, 1, 0, 0])
    assert echo.data["gpot"].tolist() == [9.0, 8.0, 7.0]


def test_a_manager_supplies_what_the_constructor_takes() -> None:
    """Id, ranks and routing table; ``device`` is taken and kept."""
    man = Manager(["sel"], 1, True)
    man.add(OldCounter, "first", "c", device=7)
    man.add(OldEcho, "second", "e")
    man.connect("first", "second", wire(f"/c/v[0:{N}]", f"/e/in[0:{N}]"))
    assert len(man) == 2
    assert man.rank_to_id == {0: "first", 1: "second"}
    assert man.rank_to_id.inv == man.rank_to_id.inverse == {"first": 0, "second": 1}
    assert man.routing_table.connections == [("first", "second")]
    man.spawn()
    module = man.modules["first"]
    assert isinstance(module, OldCounter)
    assert (module.id, module.device) == ("first", 7)
    assert module.routing_table is man.routing_table
    assert module.rank_to_id == man.rank_to_id


def test_one_process_exchanges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of exchanging are 0, and ``timed_wait`` prints the seconds."""
    man, _ = relays(kind=Manager)
    man.spawn()
    man.start(steps=5)
    seconds = man.timed_wait()
    assert seconds > 0
    assert capsys.readouterr().out == f"Execution completed in {seconds} seconds\n"
    assert man.average_step_sync_time == man.average_throughput == man.total_throughput == 0
