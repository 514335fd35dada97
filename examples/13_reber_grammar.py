"""A network with deep layers predicts the next letter of strings of the Reber grammar.

Run it as ``python 13_reber_grammar.py``, and with ``--epochs 3`` for a short look.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from neurodriver.error_driven import Network, Trainer, stop_after_zero
from neurodriver.plot import plot_learning

# %%
# The task: a graph of states makes strings. At each state there are one or two possible letters,
# so the next letter can be predicted only from those before.
LETTERS = "BTSXVPE"
ARCS = (("B", 1),), (("T", 2), ("P", 3)), (("S", 2), ("X", 4)), (("T", 3), ("V", 5)), \
       (("S", 6), ("X", 3)), (("V", 6), ("P", 4)), (("E", 0),)  # fmt: skip
"""What may follow in each state of the grammar: a letter, and the next state."""


# %%
# The network: the layer ``InputP`` predicts what the layer ``Input`` shows next. The deep layer
# ``HiddenCT`` keeps what the hidden layer did one trial before.


def network(seed: int = 0, size: tuple[int, int] = (10, 10)) -> Network:
    """Return the network with hidden layers of a size. It is not trained yet."""
    net = Network(seed=seed)
    inp = net.layer("Input", "input", 7, gi=0.9)
    predicted = net.layer("InputP", "pulvinar", 7, driver=inp, gi=0.75, drive=0.2)
    hidden = net.layer("Hidden", "super", size)
    deep = net.layer("HiddenCT", "ct", size, gi=2.1, ctxt_gain=2, nmda=0.007, tau_nmda=200)
    net.connect(inp, hidden)
    net.connect(hidden, deep, kind="context")
    net.connect(deep, deep, kind="context", rel=0.5)
    net.connect(deep, deep, kind="maintenance", abs=0.5)
    net.connect_both(deep, predicted)  # begins with the weights from InputP, which was added first
    net.connect(predicted, hidden, kind="back")
    net.set("layer", nominal=0.15, fb=1, decay_act=0, decay_glong=0, tau_sahp=10)
    net.set("path", lrate=0.03, spct=1, cap_scale=0.95, swt_rate=0.01, synapse_threshold=0.2)
    net.set(".context", lrate=0.02, synapse_threshold=0)
    return net


def strings(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield letter after letter, and which letters were possible, each as seven units."""
    state = 0
    while True:
        possible, arc = ARCS[state], rng.integers(len(ARCS[state]))
        letter, state = possible[arc]
        units = [LETTERS.index(one) for one, _ in possible]
        yield np.eye(7)[LETTERS.index(letter)], np.eye(7)[units].sum(axis=0)


# %%
# Several strings are learned at once. Each item of a batch has its own.


def environment(items: int, seed: int = 0) -> Iterator[dict[str, np.ndarray]]:
    """Yield what each item is shown in turn; each has strings of its own."""
    streams = [strings(np.random.default_rng([seed, item])) for item in range(items)]
    while True:
        for one in streams:
            letter, possible = next(one)
            yield {"Input": letter, "InputP": possible}


# %%
# A prediction is an error if the most active unit is a letter that was not possible.
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=80)
    stop = stop_after_zero(2)
    with Trainer(network(), items=16) as sim:
        log = sim.train(environment(16), parser.parse_args().epochs, trials=208, stop=stop)
    for epoch in log.rows("epoch"):
        print(*(f"{name} {epoch[name]:.3f}" for name in ("epoch", "error", "correlation")))
    plot_learning(log, "out/reber_grammar.png", ["error", "correlation"])
