"""Brian2 drivers: build a standalone (or cython) run, time it, report it."""

import os
import re
import sys
import time
import numpy as np
from common import Timer, scratch, cleanup, report


def setup(a):
    import brian2 as b

    b.BrianLogger.suppress_name("base")
    b.BrianLogger.log_level_error()
    a.dir = scratch()
    a.t_setup = time.perf_counter()
    if a.target == "cpp":
        b.set_device("cpp_standalone", build_on_run=False, directory=a.dir)
        b.prefs.devices.cpp_standalone.openmp_threads = 0 if a.threads == 1 else a.threads
    else:
        b.prefs.codegen.target = "cython"
        b.prefs.codegen.runtime.cython.cache_dir = a.dir
        b.prefs.codegen.runtime.cython.multiprocess_safe = False
    b.seed(a.seed)
    np.random.seed(a.seed)
    return b


def go(b, a, bench, net, mon, nsyn, dt_ms):
    """nsyn: callable giving the synapse count after the run. Prints the JSON line."""
    from common import cpu

    dur = a.bio * b.second
    runs, cpus, spikes, inits = [], [], [], []
    if a.target == "cpp":
        net.run(dur)
        b.device.build(directory=a.dir, compile=True, run=False, debug=False, with_output=False)
        build = time.perf_counter() - a.t_setup
        for _ in range(a.repeat):
            with Timer() as t:
                b.device.run(directory=a.dir, with_output=False, run_args=[])
            r = b.device._last_run_time
            runs.append(r)
            cpus.append(t.cpu)  # whole process, includes synapse creation
            inits.append(t.wall - r)
            spikes.append(mon.num_spikes)
        syn = nsyn()
        report(
            bench,
            "brian2",
            a,
            syn,
            dt_ms,
            build,
            inits,
            runs,
            cpus,
            spikes,
            note="cpu_all is the whole process",
            precision="double",
        )
    else:
        net.run(0 * b.ms)  # generates and compiles every kernel
        # a first short run forces compilation of everything not touched by run(0)
        build = time.perf_counter() - a.t_setup
        net.store()
        for _ in range(a.repeat):
            net.restore()
            s0 = int(mon.num_spikes)
            with Timer() as t:
                net.run(dur)
            runs.append(t.wall)
            cpus.append(t.cpu)
            inits.append(0.0)
            spikes.append(int(mon.num_spikes) - s0)
        report(
            bench,
            "brian2-cython",
            a,
            nsyn(),
            dt_ms,
            build,
            inits,
            runs,
            cpus,
            spikes,
            note="build includes synapse creation",
            precision="double",
        )
    cleanup(a.dir)
