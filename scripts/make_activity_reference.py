"""Run Brian2 and NEST on the published networks with five seeds and write how they fire.

``data/reference/activity.json`` holds for each network, simulator and population the rates, the
irregularities and the synchronies of the five seeds. The tests run the examples in
``examples/papers`` at the same sizes and ask that theirs lie among them. The spikes come from the
scripts in ``scripts/peers``; neurodriver only counts them.

    python scripts/make_activity_reference.py --peers peers-venv/bin/python [--keep DIR] [CASE ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.papers import brain, example

from neurodriver.results import activity

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "data" / "reference" / "activity.json"
SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Case:
    """A network at a size that runs in seconds.

    Attributes
    ----------
    example : str
        Name of its file in ``examples/papers``.
    seconds : float
        Length of a run.
    network : dict
        Arguments of the example's ``network``, but for the seed.
    arguments : tuple of str
        The same for the scripts of the peers.
    """

    example: str
    seconds: float
    network: dict[str, Any]
    arguments: tuple[str, ...] = field(default=())


CASES = {
    "coba_lif": Case("vogels_abbott_2005", 1.0, {"neurons": 4000}, ("--n", "4000")),
    "coba_hh": Case("brette_2007_hh", 0.5, {"neurons": 4000}, ("--n", "4000")),
    "cuba_lif": Case(
        "vogels_abbott_2005", 2.0, {"neurons": 4000, "currents": True}, ("--n", "4000")
    ),
    "brunel": Case("brunel_2000", 1.0, {"neurons": 2500}, ("--n", "2500")),
    "izhikevich": Case("izhikevich_2003", 2.0, {"neurons": 4000}, ("--n", "4000")),
    "potjans_diesmann": Case("potjans_diesmann_2014", 2.0, {"scale": 0.1}, ("--scale", "0.1")),
    "fly": Case("shiu_2024", 1.0, {"neurons": 4000, "kicked": 150}),
}
PEERS = ("brian2", "nest")


def spikes(python: str, name: str, peer: str, seed: int, folder: Path) -> Path:
    """Return the file of a run's spikes; a run whose file is there is not done again."""
    case, path = CASES[name], folder / f"{name}_{peer}_{seed}.npz"
    if path.exists():
        return path
    more = list(case.arguments)
    if name == "fly":
        table = folder / f"table_{seed}.npz"
        brain(table, seed=seed, **case.network)
        more += ["--table", str(table)]
    script = HERE / "peers" / f"{name}_{peer}.py"
    command = [
        python,
        str(script),
        "--seed",
        str(seed),
        "--bio",
        str(case.seconds),
        "--repeat",
        "1",
    ]
    print(f"{name} {peer} {seed}", flush=True)
    subprocess.run([*command, *more, "--spikes", str(path)], check=True, capture_output=True)
    return path


def fired(name: str, seed: int, path: Path) -> list[dict[str, Any]]:
    """Return how each population of a run fires."""
    case, held = CASES[name], np.load(path)
    module = example(case.example)
    *_, populations = module.network(seed=seed, **case.network)
    found = activity(held["time"], held["index"], populations, case.seconds, module.START)
    return [{n: getattr(a, n) for n in ("population", "rate", "cv", "synchrony")} for a in found]


def ranges(runs: list[list[dict[str, Any]]]) -> dict[str, dict[str, list[float]]]:
    """Return population -> quantity -> values of the seeds."""
    return {
        population["population"]: {
            quantity: [round(float(run[i][quantity]), 4) for run in runs]
            for quantity in ("rate", "cv", "synchrony")
        }
        for i, population in enumerate(runs[0])
    }


def versions(python: str) -> dict[str, str]:
    """Return the versions of the peers."""
    code = "from importlib.metadata import version as v; print(v('brian2'), v('nest-simulator'))"
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    return dict(zip(PEERS, told.split(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--peers", required=True, help="Python with Brian2 and NEST")
    parser.add_argument("--keep", type=Path, help="folder for spikes; what is there is not redone")
    parser.add_argument("--only", choices=PEERS, help="what is known of the other stays")
    arguments = parser.parse_args()
    known = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    version = versions(arguments.peers)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.cases or CASES:
            case = CASES[name]
            entry: dict[str, Any] = {
                "example": case.example,
                "network": case.network,
                "seconds": case.seconds,
                "seeds": SEEDS,
                "peers": dict(known.get(name, {}).get("peers", {})) if arguments.only else {},
            }
            for peer in [arguments.only] if arguments.only else PEERS:
                runs = [
                    fired(name, seed, spikes(arguments.peers, name, peer, seed, folder))
                    for seed in SEEDS
                ]
                entry["peers"][peer] = {
                    "version": version[peer],
                    "script": f"scripts/peers/{name}_{peer}.py",
                    "populations": ranges(runs),
                }
            known[name] = entry
            OUTPUT.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
