"""Train the associator and the Reber network with several seeds, and draw their learning curves.

python scripts/learning_curves.py [--seeds 5 3] [--folder data/figures]

It writes ``learning_curves.png`` and ``receptive_fields.png``, and prints the figures of the page
on error-driven learning. Each seed chooses patterns or strings, and first weights.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from neurodriver.error_driven import Table, Trainer, stop_after_zero
from neurodriver.error_driven.statistics import Log
from neurodriver.plot import plot_learning, plot_receptive_fields
from neurodriver.plot.style import STYLE

EXAMPLES = Path(__file__).parents[1] / "examples"
EPOCHS = 0, 4, 8, 10, 12, 16, 20, 30, 40, 50


def associator(seed: int) -> tuple[Log, Any]:
    """Return the log of a training, and the weights into the first hidden layer."""
    example = runpy.run_path(str(EXAMPLES / "11_random_associator.py"))
    rng = np.random.default_rng(seed)
    pairs = Table(**{layer: example["patterns"](25, rng) for layer in ("Input", "Output")})
    with Trainer(example["network"](seed)) as sim:
        log = sim.train(pairs, 60, trials=32, stop=stop_after_zero(2))
        return log, sim.path("Input", "Hidden1")


def reber(seed: int) -> Log:
    """Return the log of a training."""
    example = runpy.run_path(str(EXAMPLES / "13_reber_grammar.py"))
    with Trainer(example["network"](seed), items=16) as sim:
        shown = example["environment"](16, seed)
        return sim.train(shown, 100, trials=208, stop=stop_after_zero(2))


def show(task: str, seed: int, log: Log, column: str) -> None:
    """Print the figures of one training."""
    rows = log["epoch"][column]
    chosen = ", ".join(f"{epoch}: {rows[epoch]:.3f}" for epoch in EPOCHS if epoch < len(rows))
    last = len(rows) - 1 if log.zero_epochs >= 2 else None
    print(
        f"{task}, seed {seed}: first epoch without error {log.first_zero}, second in a row {last}"
    )
    print(f"  {column} in epoch {chosen}", flush=True)


def draw(tasks: dict[str, list[Log]], weights: Any, folder: Path) -> None:
    """Draw the errors of both tasks, and the weights into the hidden units of the associator."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
        plot_learning(tasks["ra25"], columns=("unit_error", "error"), ax=axes[:2])
        plot_learning(tasks["reber"], columns=("error",), ax=axes[2:])
        titles = "associator: unit error", "associator: error", "Reber grammar: error"
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title, ylim=(0, None))
        figure.savefig(folder / "learning_curves.png", dpi=120)
    plot_receptive_fields(weights, (5, 5), folder / "receptive_fields.png")


def main() -> None:
    """Train, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=[5, 3], metavar=("RA25", "REBER"))
    parser.add_argument("--folder", type=Path, default=EXAMPLES.parent / "data" / "figures")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    tasks: dict[str, list[Log]] = {"ra25": [], "reber": []}
    for seed in range(given.seeds[0]):
        log, weights = associator(seed)
        tasks["ra25"].append(log)
        show("ra25", seed, log, "unit_error")
    for seed in range(given.seeds[1]):
        tasks["reber"].append(reber(seed))
        show("reber", seed, tasks["reber"][-1], "error")
    draw(tasks, weights, given.folder)


if __name__ == "__main__":
    main()
