"""Shipped rules in plain Python, from their definitions: sums over all spikes, no traces.

Each function tells the weight after an event. It gets the weight before, what is visible of the
events before, the rule's numbers, and a dictionary for what the synapse keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

Values = Mapping[str, float]


@dataclass
class Seen:
    """What an event sees: ms since the arrivals and spikes before it, the latest last."""

    arrivals: list[float]
    spikes: list[float]

    def x(self, tau: float) -> float:
        """All arrivals."""
        return sum(exp(-h / tau) for h in self.arrivals)

    def y(self, tau: float) -> float:
        """All spikes of the target."""
        return sum(exp(-h / tau) for h in self.spikes)

    def last_x(self, tau: float) -> float:
        """The last arrival."""
        return exp(-self.arrivals[-1] / tau) if self.arrivals else 0.0

    def last_y(self, tau: float) -> float:
        """The last spike of the target."""
        return exp(-self.spikes[-1] / tau) if self.spikes else 0.0


Event = Callable[[float, Seen, Values, dict[str, Any]], float]


def clipped(w: float, p: Values) -> float:
    return min(max(w, p.get("w_min", 0.0)), p["w_max"])


def up(w: float, k: float, p: Values) -> float:
    """Potentiation of weight-dependent rules by k pairs."""
    change = p["learning_rate"] * p["w_max"] * (1 - w / p["w_max"]) ** p["mu_plus"]
    return clipped(w + change * k, p)


def down(w: float, k: float, p: Values) -> float:
    change = p["alpha"] * p["learning_rate"] * p["w_max"] * (w / p["w_max"]) ** p["mu_minus"]
    return clipped(w - change * k, p)


def restricted_spike(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    k = e.last_x(p["tau_plus"]) if own.pop("arrived", False) else 0.0
    own["spiked"] = True
    return up(w, k, p)


def restricted_arrival(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    k = e.last_y(p["tau_minus"]) if own.pop("spiked", False) else 0.0
    own["arrived"] = True
    return down(w, k, p)


def centred_spike(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    fresh = e.arrivals[own.get("used", 0) :]
    own["used"] = len(e.arrivals)
    return up(w, sum(exp(-h / p["tau_plus"]) for h in fresh), p)


def triplet(all_pairs: bool) -> tuple[Event, Event]:
    def on_arrival(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
        y, x = (e.y, e.x) if all_pairs else (e.last_y, e.last_x)
        return clipped(w - y(p["tau_minus"]) * (p["A2_minus"] + p["A3_minus"] * x(p["tau_x"])), p)

    def on_spike(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
        y, x = (e.y, e.x) if all_pairs else (e.last_y, e.last_x)
        return clipped(w + x(p["tau_plus"]) * (p["A2_plus"] + p["A3_plus"] * y(p["tau_y"])), p)

    return on_arrival, on_spike


def power_law_arrival(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    return max(w - p["learning_rate"] * p["alpha"] * w * e.y(p["tau_minus"]), 0.0)


def power_law_spike(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    return w + p["learning_rate"] * p["w_0"] * (w / p["w_0"]) ** p["mu"] * e.x(p["tau_plus"])


def release(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    """Note in ``own`` the share u and the rest x of a synapse with short-term plasticity."""
    if e.arrivals:
        h, u, x = e.arrivals[-1], own["u"], own["x"]
        own["u"] = p["U"] + u * (1 - p["U"]) * (exp(-h / p["tau_f"]) if p["tau_f"] else 0.0)
        own["x"] = 1 + (x - x * u - 1) * exp(-h / p["tau_d"])
    else:
        own.update(u=p["U"], x=1.0)
    return w


def not_yet(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    """An arrival: the eligibility changes in place of the weight."""
    own["c"] = own.get("c", 0.0) - p["A_minus"] * e.y(p["tau_minus"])
    return w


def soon(w: float, e: Seen, p: Values, own: dict[str, Any]) -> float:
    own["c"] = own.get("c", 0.0) + p["A_plus"] * e.x(p["tau_plus"])
    return w


def rewarded(w: float, level: float, h: float, p: Values, own: dict[str, Any]) -> float:
    """The weight h ms after an event, and what is left of the eligibility."""
    c, q = own.get("c", 0.0), 1 / p["tau_c"] + 1 / p["tau_n"]
    own["c"] = c * exp(-h / p["tau_c"])
    gained = level * (1 - exp(-h * q)) / q
    return clipped(w + c * (gained - p["base"] * p["tau_c"] * (1 - exp(-h / p["tau_c"]))), p)


def rewarded_at(w: float, level: float, p: Values, own: dict[str, Any]) -> float:
    """The weight after an interval."""
    c = own.get("c", 0.0)
    own["c"] = c * exp(-p["interval"] / p["tau_c"])
    return clipped(w + c * (level - p["base"]), p)


EVENTS: dict[str, tuple[Event, Event]] = {
    "PairSTDP": (
        lambda w, e, p, own: clipped(
            w - p["ratio"] * p["A_plus"] * p["w_max"] * e.y(p["tau_minus"]), p
        ),
        lambda w, e, p, own: clipped(w + p["A_plus"] * p["w_max"] * e.x(p["tau_plus"]), p),
    ),
    "WeightedSTDP": (
        lambda w, e, p, own: down(w, e.y(p["tau_minus"]), p),
        lambda w, e, p, own: up(w, e.x(p["tau_plus"]), p),
    ),
    "NearestSTDP": (
        lambda w, e, p, own: down(w, e.last_y(p["tau_minus"]), p),
        lambda w, e, p, own: up(w, e.last_x(p["tau_plus"]), p),
    ),
    "RestrictedSTDP": (restricted_arrival, restricted_spike),
    "CentredSTDP": (lambda w, e, p, own: down(w, e.last_y(p["tau_minus"]), p), centred_spike),
    "PowerLawSTDP": (power_law_arrival, power_law_spike),
    "TripletSTDP": triplet(True),
    "NearestTripletSTDP": triplet(False),
    "InhibitorySTDP": (
        lambda w, e, p, own: clipped(
            w + p["eta"] * (e.y(p["tau"]) - 2e-3 * p["rho_0"] * p["tau"]), p
        ),
        lambda w, e, p, own: clipped(w + p["eta"] * e.x(p["tau"]), p),
    ),
    "DiehlCookSTDP": (
        lambda w, e, p, own: clipped(w - p["nu_pre"] * e.last_y(p["tau_1"]), p),
        lambda w, e, p, own: clipped(
            w + p["nu_post"] * e.last_x(p["tau_x"]) * e.last_y(p["tau_2"]), p
        ),
    ),
    "ShortTerm": (release, lambda w, e, p, own: w),
    "RewardedSTDP": (not_yet, soon),
    "IntervalRewardedSTDP": (not_yet, soon),
}
EVENTS["HomeostaticSTDP"] = EVENTS["NormalisedSTDP"] = EVENTS["PairSTDP"]
"""Rule -> what happens at an arrival, and at a spike of the target."""


def carried(name: str, before: float, after: float, own: Mapping[str, Any]) -> float:
    """Return what the spike of an arrival carries."""
    if name == "ShortTerm":
        return float(before * own["u"] * own["x"])
    return before if name == "DiehlCookSTDP" else after


@dataclass
class Synapse:
    """One synapse: its weight, the steps of doses, and what has been there."""

    weight: float
    doses: Sequence[int] = ()
    own: dict[str, Any] = field(default_factory=dict)
    arrivals: list[int] = field(default_factory=list)
    spikes: list[int] = field(default_factory=list)

    def run(
        self, name: str, p: Values, events: Mapping[int, tuple[int, int]], dt_ms: float,
        first: str, same_step: str,
    ) -> list[tuple[int, float, int]]:  # fmt: skip
        """Take all events; return step, number of spikes and what each carried, of each arrival.

        ``events`` tells for each step how many arrivals and how many spikes of the target it has.
        """
        out: list[tuple[int, float, int]] = []
        before_it = None
        for n, here in sorted(events.items()):
            if name == "RewardedSTDP" and before_it is not None:
                level = self._level(before_it + 1, before_it, p, dt_ms)
                self.weight = rewarded(self.weight, level, (n - before_it) * dt_ms, p, self.own)
            if name == "IntervalRewardedSTDP" and n > 0 and n * dt_ms % p["interval"] == 0:
                self.weight = rewarded_at(self.weight, self._level(n, n, p, dt_ms), p, self.own)
            before_it = n
            counts = dict(zip(("arrival", "spike"), here, strict=True))
            late: list[tuple[list[int], int]] = []
            for kind in sorted(counts, key=lambda k: k != first):
                if not counts[kind]:
                    continue
                seen = Seen([(n - m) * dt_ms for m in self.arrivals],
                            [(n - m) * dt_ms for m in self.spikes])  # fmt: skip
                text = EVENTS[name][kind == "spike"]
                before, self.weight = self.weight, text(self.weight, seen, p, self.own)
                if kind == "arrival":
                    out.append((n, carried(name, before, self.weight, self.own), counts[kind]))
                late.append((self.arrivals if kind == "arrival" else self.spikes, counts[kind]))
                if same_step == "pair":
                    late = self._jumped(late, n)
            self._jumped(late, n)
        return out

    def _level(self, before: int, at: int, p: Values, dt_ms: float) -> float:
        """Return what is left in a step of the doses before another one."""
        left = (exp(-(at - m) * dt_ms / p["tau_n"]) for m in self.doses if m < before)
        return p["dose"] * sum(left)

    @staticmethod
    def _jumped(late: list[tuple[list[int], int]], n: int) -> list[tuple[list[int], int]]:
        for history, count in late:
            history.extend([n] * count)
        return []
