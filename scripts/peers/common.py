"""Shared parameters and reporting for the peer CPU benchmarks (see README.md)."""

import argparse
import json
import os
import resource
import shutil
import statistics
import tempfile
import time

# Brette et al. 2007 benchmark 1 (COBA LIF); pF, nS, mV, ms.
COBA = dict(
    C=200.0,
    gL=10.0,
    EL=-60.0,
    Vt=-50.0,
    Vr=-60.0,
    tref=5.0,
    Ee=0.0,
    Ei=-80.0,
    taue=5.0,
    taui=10.0,
    we=6.0,
    wi=67.0,
    K=80,
    dt=0.1,
)
# Brette et al. 2007 benchmark 3 (COBA HH, Traub-Miles); pF, nS, mV, ms.
HH = dict(
    C=200.0,
    gL=10.0,
    EL=-60.0,
    gNa=20000.0,
    gK=6000.0,
    ENa=50.0,
    EK=-90.0,
    VT=-63.0,
    Ee=0.0,
    Ei=-80.0,
    taue=5.0,
    taui=10.0,
    we=6.0,
    wi=67.0,
    K=80,
    dt=0.1,
)
# Brunel 2000 model A, 8000 exc + 2000 inh, 10 % connectivity; mV, ms, Hz.
BRUNEL = dict(tau=20.0, Vt=20.0, Vr=10.0, tref=2.0, J=0.1, g=5.0, eta=2.0, p=0.1, delay=1.5, dt=0.1)
# Hodgkin-Huxley 1952 + per-synapse alpha conductance.
HHA = dict(
    gNa=120.0,
    gK=36.0,
    gL=0.3,
    ENa=50.0,
    EK=-77.0,
    EL=-54.387,
    I=20.0,
    ar=0.11,
    ad=0.19,
    gmax=0.05,
    Ee=0.0,
    Ei=-80.0,
    dt=1e-3,
    steps=10000,
)
# Izhikevich 2003; weights rescaled for 100 synapses per neuron.
IZHI = dict(K=100, wE=2.0, wI=4.0, sE=5.0, sI=2.0, dmax=20, dt=1.0)


def args(n, bio, **extra):
    p = argparse.ArgumentParser()
    p.add_argument("--n", type=int, default=n)
    p.add_argument("--bio", type=float, default=bio, help="biological seconds")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--seed", type=int, default=1)
    for k, v in extra.items():
        p.add_argument("--" + k, default=v, type=type(v))
    return p.parse_args()


def cpu():
    s = resource.getrusage(resource.RUSAGE_SELF)
    c = resource.getrusage(resource.RUSAGE_CHILDREN)
    return s.ru_utime + s.ru_stime + c.ru_utime + c.ru_stime


def machine_cpu():
    """Busy CPU seconds of the whole machine so far."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    return (sum(v) - v[3] - v[4]) / os.sysconf("SC_CLK_TCK")


class Timer:
    """Wall and own CPU seconds; `others` is how many cores other processes kept busy."""

    log = []

    def __enter__(self):
        self.b0, self.c0, self.t0 = machine_cpu(), cpu(), time.perf_counter()
        return self

    def __exit__(self, *a):
        self.wall, self.cpu = time.perf_counter() - self.t0, cpu() - self.c0
        self.others = max(0.0, machine_cpu() - self.b0 - self.cpu) / self.wall
        Timer.log.append((self.wall, self.others))


def scratch():
    return tempfile.mkdtemp(prefix="run_", dir=os.environ.get("BENCH_TMP"))


def cleanup(path):
    shutil.rmtree(path, ignore_errors=True)


def report(benchmark, peer, a, synapses, dt_ms, build, init, runs, cpus, spikes, **extra):
    """build/init: list of seconds or one number; runs, cpus, spikes: one value per repeat."""
    med = lambda x: statistics.median(x) if isinstance(x, list) else x
    steps = round(a.bio * 1e3 / dt_ms)
    r = med(runs)
    sp = med(spikes)
    out = dict(
        benchmark=benchmark,
        peer=peer,
        N=a.n,
        synapses=int(synapses),
        bio_seconds=a.bio,
        build_s=round(med(build), 3),
        run_s=round(r, 4),
        threads=a.threads,
        mean_rate_hz=round(sp / a.n / a.bio, 3),
        spikes=int(sp),
        init_s=round(med(init), 3),
        us_per_step=round(r / steps * 1e6, 3),
        steps=steps,
        dt_ms=dt_ms,
        run_all=[round(x, 4) for x in runs],
        run_cpu_all=[round(x, 3) for x in cpus],
        spikes_all=[int(x) for x in spikes],
        others_busy_cores=round(sum(w * o for w, o in Timer.log) / sum(w for w, o in Timer.log), 2),
        load1=round(os.getloadavg()[0], 2),
        **extra,
    )
    print(json.dumps(out), flush=True)
