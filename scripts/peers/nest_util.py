"""NEST drivers: build, prepare and time one model several times."""

import contextlib
import os
import sys


@contextlib.contextmanager
def quiet():
    """Send C-level stdout to /dev/null so that only the JSON line is printed."""
    sys.stdout.flush()
    keep, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(keep, 1)
        os.close(keep)
        os.close(null)


with quiet():
    import nest
import numpy as np
from common import Timer, report


def go(a, bench, build, dt_ms, **extra):
    """build(nest, rng) creates the network and returns the tuple (neurons,)."""
    builds, inits, runs, cpus, spikes = [], [], [], [], []
    with quiet():
        nest.verbosity = nest.VerbosityLevel.ERROR
        for r in range(a.repeat):
            nest.ResetKernel()
            nest.SetKernelStatus(
                {"resolution": dt_ms, "local_num_threads": a.threads, "rng_seed": a.seed + 17 * r}
            )
            rng = np.random.default_rng(a.seed + r)
            with Timer() as t:
                pop = build(nest, rng)
                rec = nest.Create("spike_recorder")
                nest.Connect(pop, rec)
            builds.append(t.wall)
            syn = nest.num_connections - a.n - getattr(a, "device_conns", 0)
            with Timer() as t:
                nest.Prepare()
            inits.append(t.wall)
            with Timer() as t:
                nest.Run(a.bio * 1e3)
            runs.append(t.wall)
            cpus.append(t.cpu)
            nest.Cleanup()
            spikes.append(rec.n_events)
    report(
        bench, "nest", a, syn, dt_ms, builds, inits, runs, cpus, spikes, precision="double", **extra
    )
