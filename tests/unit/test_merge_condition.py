"""When the clamp of AlphaSynapse cannot act, and what a class must declare to be merged."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import model

from neurodriver import NDComponent
from neurodriver.components.synapses.alpha_synapse import AlphaSynapse, stays_positive
from neurodriver.components.synapses.synapse_ampa import SynapseAMPA
from neurodriver.errors import ModelError
from neurodriver.model.library import shipped
from neurodriver.model.linear import ARRIVAL, Linear, linear_form

PER_STEP = Fraction(1, 1000)


def lowest(p: Fraction, q: Fraction, train: list[bool], substeps: int = 1) -> Fraction:
    """Return the least z of the model without its clamp, exactly, in units of the sub-step.

    With ``dt_ms = 1`` as the unit, ``p = ar dt_ms`` and ``q = ad dt_ms`` are all there is.
    """
    z = dz = d2z = least = Fraction(0)
    for spike in train:
        for substep in range(substeps):
            z_new, dz_new = z + dz, dz + d2z
            if substep == 0 and spike:
                dz_new += p * q
            d2z = -(p + q) * dz - p * q * z
            z, dz = z_new, dz_new
            least = min(least, z)
    return least


def holds(p: Fraction | float, q: Fraction | float, gmax: float = 1.0, dt_ms: float = 1.0) -> bool:
    """Return the condition for ``ar dt_ms = p`` and ``ad dt_ms = q``."""
    given = {"ar": float(p) / dt_ms, "ad": float(q) / dt_ms, "gmax": gmax}
    (found,) = stays_positive({n: np.array([v]) for n, v in given.items()}, dt_ms)
    return bool(found)


rates = st.integers(1, 400).map(lambda n: n * PER_STEP)


@settings(max_examples=200, deadline=None)
@given(p=rates, q=rates, train=st.lists(st.booleans(), min_size=1, max_size=60),
       substeps=st.integers(1, 3), rest=st.integers(0, 60))  # fmt: skip
def test_clamp_never_acts_where_the_condition_holds(
    p: Fraction, q: Fraction, train: list[bool], substeps: int, rest: int
) -> None:
    """In exact arithmetic, for any train of spikes, with sub-steps and a pause behind it."""
    if holds(p, q):
        assert lowest(p, q, [*train, *[False] * rest], substeps) >= 0


def test_one_spike_and_its_whole_decay() -> None:
    """Superposition: a single spike decides. On the edge of the condition, too."""
    positive = 0
    for p in (5, 20, 60, 100, 140, 148, 149, 170, 200, 240, 249):
        for over in (1, 2, 5, 50):
            rise, decay = p * PER_STEP, p * PER_STEP / over
            if holds(rise, decay):
                positive += 1
                assert lowest(rise, decay, [True, *[False] * 250]) == 0
    assert 25 < positive < 44


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.3), (0.35, 0.45), (0.4, 0.3), (0.8, 0.4), (2.5, 2.5)])
def test_clamp_acts(p: float, q: float) -> None:
    """Fast rates for the step: z falls below zero without the clamp, and the condition fails."""
    assert lowest(Fraction(p), Fraction(q), [True, *[False] * 60]) < 0
    assert not holds(p, q)


def test_edges_of_the_condition() -> None:
    """Equal rates: p <= 4/27. A negative gmax never; any length of the sub-step."""
    assert holds(4 / 27 - 1e-9, 4 / 27 - 1e-9)
    assert not holds(4 / 27 + 1e-9, 4 / 27 + 1e-9)
    assert holds(0.011, 0.019)
    assert holds(0.011, 0.019, gmax=0.0)
    assert not holds(0.011, 0.019, gmax=-0.1)
    assert holds(0.1, 0.03, dt_ms=0.1)
    assert not holds(0.3, 0.3, dt_ms=0.001)


def test_which_models_are_linear() -> None:
    """Those whose recurrence is linear; not those that saturate, learn, or read potentials."""
    found = {name for name, one in shipped().items() if linear_form(one)}
    assert found == {"AlphaSynapse", "AlphaSynapse2", "SynapseAMPA", "SynapseGABA"}


def test_a_changed_model_is_not_linear() -> None:
    """A class that inherits the declaration and changes the mathematics is left alone."""

    class Renamed(SynapseAMPA):
        maximum_dt = 5e-5

    class Saturating(SynapseAMPA):
        update = "s *= decay; if (arrived != 0) s = fmin(s + 1, 1);"

    class Shown(SynapseAMPA):
        outputs: ClassVar[dict[str, str]] = {"g": "gmax * s * s"}

    class Slower(SynapseAMPA):
        constants: ClassVar[dict[str, str]] = {"decay": "exp(-dt_ms / (2 * st))"}

    class Own(AlphaSynapse):
        def run_step(self, update_pointers: Any, st: Any = None) -> None:
            """Do nothing."""

    assert linear_form(Renamed) is not None
    for other in (Saturating, Shown, Slower, Own):
        assert linear_form(other) is None


BASE: dict[str, Any] = {
    "accesses": ("spike_state",),
    "updates": ("g",),
    "params": {"gmax": "mS/cm^2"},
    "states": {"s": "1"},
    "terms": {"arrived": ARRIVAL},
    "update": "s = 0.9 * s + arrived;",
    "outputs": {"g": "gmax * s"},
    "linear": Linear(("gmax",)),
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accesses": ("spike_state", "V")}, "access events alone"),
        ({"updates": ("g", "I")}, "update a conductance alone"),
        ({"terms": {"arrived": "spike_state"}}, "needs the term 'arrived'"),
        ({"terms": {}}, "arrived"),
        ({"linear": Linear(("weight",))}, "no parameter 'weight'"),
    ],
)
def test_declarations_are_checked(change: dict[str, Any], said: str) -> None:
    """A declaration that cannot be true is an error when the class is made."""
    assert linear_form(type("Good", (NDComponent,), BASE)) is not None
    with pytest.raises(ModelError, match=said):
        type("Bad", (NDComponent,), {**BASE, **change})


def test_parameters_of_the_shipped_models_are_all_there() -> None:
    """A factor scales g and nothing else reads it: g is linear in each one."""
    for name in ("AlphaSynapse", "AlphaSynapse2", "SynapseAMPA"):
        one = model(name)
        form = linear_form(one)
        assert form is not None
        others = " ".join([one.update, *one.constants.values(), *one.terms.values()])
        assert not any(factor in others for factor in form.factors)
