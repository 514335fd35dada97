"""A model whose text loops over its connections, a circuit of it, and plain Python."""

from __future__ import annotations

import numpy as np

import neurodriver as nd

STEPS, DT = 60, 1e-3


class Tonic(nd.NDComponent):
    """Spikes every few steps."""

    params = {"interval": nd.Parameter("1", 3.0), "phase": nd.Parameter("1", 0.0)}
    states = {"clock": nd.State("1", "phase")}
    updates = {"spike_state": ""}
    update = "clock += 1; if (clock >= interval) { clock = 0; spike_state = 1; }"


class Rewarded(nd.NDComponent):
    """The example of the specification: reward-modulated plasticity."""

    shared = {"reward": nd.Field(default=0.0)}
    updates = {"spike_state": "", "V": "mV"}
    accesses = [
        nd.Access(
            "spike_state",
            "exc",
            connection={
                "w": nd.State("mV", 0.5),
                "trace": nd.State(),
                "kind": nd.Parameter("1", default=0.0),
            },
        ),
        nd.Access("V", "gap", connection={"g": nd.Parameter("1", default=0.1)}),
    ]
    states = {"V": nd.State("mV", 0.0), "post": nd.State(), "seen": nd.State()}
    update = """
        int first = -1;
        for (s : exc) {
            if (s.kind > 1) continue;
            s.trace = 0.95 * s.trace + s.spike_state * post;
            s.w = fmin(2, fmax(0, s.w + reward * s.trace));
            V += s.w * s.spike_state;
            if (s.spike_state > 0 && first < 0) first = s.index;
        }
        for (other : gap) V += other.g * (other.V - V) / count(gap);
        seen += first + 0.001 * count(exc);
        V *= 0.9; post *= 0.9;
        if (V > 1.5) { V = 0; post += 1; spike_state = 1; }
    """


def circuit(seed: int = 0, delays: bool = True) -> nd.Circuit:
    """Return sources, and cells that they and each other reach, with delays of their own."""
    rng = np.random.default_rng(seed)
    source = nd.Population(Tonic, 23, name="source", interval=rng.integers(2, 9, 23).astype(float),
                           phase=rng.integers(0, 3, 23).astype(float))  # fmt: skip
    cells = nd.Population(Rewarded, 37, name="cells", initV=rng.uniform(0, 1, 37))
    m, n = 150, 90
    steps = rng.integers(1, 6, m) if delays else np.full(m, 2)
    ends = rng.integers(0, 23, m).astype(np.int32), rng.integers(23, 59, m).astype(np.int32)
    data = {"w": rng.uniform(0.1, 1, m), "kind": rng.integers(0, 3, m).astype(float)}
    exc = nd.Connections("spike_state", "exc", *ends, steps * DT, data)
    own = rng.integers(23, 60, n).astype(np.int32), rng.integers(23, 59, n).astype(np.int32)
    recurrent = nd.Connections("spike_state", "exc", *own, np.full(n, 2 * DT))
    gap = rng.integers(23, 60, n).astype(np.int32), rng.integers(23, 59, n).astype(np.int32)
    gaps = nd.Connections("V", "gap", *gap, np.zeros(()), {"g": rng.uniform(0, 0.2, n)})
    links = [exc, recurrent, gaps]
    return nd.Circuit([source, cells], links, shared={"reward": 0.003}, name="rewarded")


def plain(made: nd.Circuit, steps: int, rewards: list[float]) -> dict[str, np.ndarray]:
    """Return what plain Python makes of a circuit, cell by cell, connection by connection."""
    sources, cells = made.groups
    clock = sources.params["phase"].copy()
    n = cells.count
    V, post, seen = cells.params["initV"].copy(), np.zeros(n), np.zeros(n)
    inputs: list[list[list[float]]] = [[] for _ in range(n)]
    gaps: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for number, links in enumerate(made.connections):
        delay = np.broadcast_to(links.delay, (len(links),))
        for i, (a, b) in enumerate(zip(links.source.tolist(), links.target.tolist(), strict=True)):
            if links.access == "gap":
                gaps[b - 23].append((a - 23, float(links.data["g"][i])))
                continue
            back = max(round(delay[i] / DT), 1)
            w = float(links.data["w"][i]) if number == 0 else 0.5
            kind = float(links.data["kind"][i]) if number == 0 else 0.0
            inputs[b - 23].append([a, back, w, 0.0, kind, number, i])
    spikes = [np.zeros(60)]
    for step in range(steps):
        now, old = np.zeros(60), V.copy()
        clock += 1
        fired = clock >= sources.params["interval"]
        clock[fired] = 0
        now[:23] = fired
        for c in range(n):
            first = -1
            for one in inputs[c]:
                a, back, kind = int(one[0]), int(one[1]), one[4]
                if kind > 1:
                    continue
                spike = spikes[step + 1 - back][a] if step + 1 - back >= 0 else 0.0
                one[3] = 0.95 * one[3] + spike * post[c]
                one[2] = min(2.0, max(0.0, one[2] + rewards[step] * one[3]))
                V[c] += one[2] * spike
                if spike > 0 and first < 0:
                    first = a if a < 23 else a - 23
            for other, g in gaps[c]:
                V[c] += g * (old[other] - V[c]) / len(gaps[c])
            seen[c] += first + 0.001 * len(inputs[c])
            V[c] *= 0.9
            post[c] *= 0.9
            if V[c] > 1.5:
                V[c], now[23 + c] = 0, 1
                post[c] += 1
        spikes.append(now)
    every = [one for cell in inputs for one in cell]
    tables = {}
    for number in (0, 1):
        mine = sorted((one for one in every if one[5] == number), key=lambda one: one[6])
        tables[f"w{number}"] = np.array([one[2] for one in mine])
        tables[f"trace{number}"] = np.array([one[3] for one in mine])
    return {"V": V, "post": post, "seen": seen, "spikes": np.array(spikes), **tables}


class Placed(nd.NDComponent):
    axes, updates, states = ("y", "x"), {"val": "1"}, {"val": nd.State("1", 0.0)}
    update = "val = 1 + here.y + 10 * here.x;"


class Measuring(nd.NDComponent):
    """Adds up how large the populations of its sources are; wraps around their edge."""

    accesses = [nd.Access("val", "exc", model=Placed)]
    updates = {"n": "1", "rows": "1", "after": "1"}
    update = """
        for (s : exc) {
            n += 1;
            rows += s.source.y_size * 100 + s.source.x_size;
            if (s.source.x_size > 0) after += (s.x + 1) % s.source.x_size;
        }
    """


def measured() -> nd.Circuit:
    """Return a circuit of one whose cells have sources in two populations of different sizes."""
    a = nd.Population(Placed, name="a", axes={"y": 3, "x": 4})
    c = nd.Population(Placed, name="c", axes={"y": 2, "x": 5}, mask=np.arange(10).reshape(2, 5) > 1)
    b = nd.Population(Measuring, 5, name="b")
    rule = nd.FixedInDegree(4)
    links = [nd.Projection(one, b, rule, receptor="exc", delay=1e-3) for one in (a, c)]
    return nd.Circuit([a, c, b], links, seed=2)
