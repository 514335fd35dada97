"""Shipped rules against NEST and Brian2: what each spike carried for given trains."""

from __future__ import annotations

import pytest
from golden import (
    FOLDER,
    OF_RATES,
    OTHERS,
    cases,
    check_clopath,
    check_network,
    check_rates,
    check_trains,
    in_both_types,
)


def test_files_are_covered() -> None:
    """What is left out is so on purpose."""
    if not FOLDER.exists():
        pytest.skip(f"{FOLDER} is not there")
    rates = (f"brian2_rates_{name}" for name in OF_RATES)
    left = {path.stem for path in FOLDER.glob("*.npz")} - set(cases())
    assert left == {*OTHERS, *rates}


@pytest.mark.parametrize(("name", "dtype"), in_both_types())
def test_what_each_spike_carries(name: str, dtype: str) -> None:
    """In each step of the file, and what the targets get; and the weights between the spikes."""
    check_trains(name, dtype)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_that_learns_spikes_as_in_nest(threads: int) -> None:
    """Neuron by neuron and step by step; and all weights that the spikes carried."""
    check_network(threads=threads)


@pytest.mark.parametrize("name", OF_RATES)
def test_rates(name: str, dtype: str) -> None:
    """For given rates, after each step that the file has."""
    check_rates(name, dtype)


def test_potentials(dtype: str) -> None:
    """What each spike carries, for the potentials of NEST's neuron."""
    check_clopath(dtype, backend="cpu")
