"""Ranks of a job started by ``mpiexec``, or this process alone; the one place that needs mpi4py.

Nothing here blocks without a deadline: every wait is a loop of tests, and heartbeats tell whether
the others are there.
"""

from .channels import Channel as Channel
from .starting import leave_signs
from .starting import library as library
from .tasks import TASKS as TASKS
from .tasks import RankTask as RankTask
from .waiting import wait_until as wait_until
from .world import MPIWorld as MPIWorld
from .world import World as World
from .world import world as world

leave_signs()
