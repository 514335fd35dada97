"""Learning on a GPU against NEST and Brian2: the files and tolerances of the CPU."""

from __future__ import annotations

import pytest
from golden import (
    OF_RATES,
    check_clopath,
    check_network,
    check_rates,
    check_trains,
    in_both_types,
)


@pytest.mark.parametrize(("name", "dtype"), in_both_types())
def test_what_each_spike_carries(name: str, dtype: str) -> None:
    """In each step of the file, and what the targets get; and the weights between the spikes."""
    check_trains(name, dtype, backend="cuda")


def test_a_network_that_learns_spikes_as_in_nest(executor: str) -> None:
    """Neuron by neuron and step by step; and all weights that the spikes carried."""
    check_network(backend="cuda", executor=executor)


@pytest.mark.parametrize("name", OF_RATES)
def test_rates(name: str, dtype: str) -> None:
    """For given rates, after each step that the file has."""
    check_rates(name, dtype, backend="cuda")


def test_potentials(dtype: str) -> None:
    """What each spike carries, for the potentials of NEST's neuron."""
    check_clopath(dtype, backend="cuda")
