"""Two ranks that train a network of layers together have the bits of one process."""

from __future__ import annotations

from error_networks import assert_ranks_train_as_one
from mpi4py import MPI


def test_training_divided_between_two_ranks() -> None:
    """Weights, averages, logs and states, where each rank shows two items of four."""
    assert_ranks_train_as_one(MPI.COMM_WORLD)
