"""A network of four layers learns 25 pairs of random patterns from the error of its output.

The network and the task are those of `ra25` of Axon. Run it as ``python 11_random_associator.py``.
"""

import numpy as np

from neurodriver.error_driven import Network, Table, Trainer, stop_after_zero
from neurodriver.plot import plot_learning, plot_receptive_fields

# %%
# The task: 25 random patterns as inputs, and 25 others as outputs.


def patterns(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return patterns of 6 active units among 25, of which any two differ in 4 places or more."""
    found: list[np.ndarray] = []
    while len(found) < count:
        one = np.zeros(25)
        one[rng.choice(25, 6, replace=False)] = 1
        if all(np.abs(one - other).sum() >= 4 for other in found):
            found.append(one)
    return np.array(found)


# %%
# The network: an input, two hidden layers and an output. Neighbours are connected in both
# directions, so that the output teaches the hidden layers.


def network(seed: int = 0) -> Network:
    """Return the network, which is not trained yet."""
    net = Network(seed=seed)
    inp = net.layer("Input", "input", (5, 5), gi=0.9, nominal=0.15, clamp=1.5)
    hidden = [net.layer(name, "super", (10, 10)) for name in ("Hidden1", "Hidden2")]
    out = net.layer("Output", "target", (5, 5), gi=0.65, nominal=0.24, refractory=1)
    net.connect(inp, hidden[0])
    net.connect_both(*hidden)
    net.connect_both(hidden[1], out)
    net.set("layer", gi=1.05, fb=0.5, nominal=0.06, mg=1.2, vgcc=0)
    net.set("path", lrate=0.06, synapse_threshold=0.1)
    net.set(".back", rel=0.3)
    return net


# %%
# Training ends after two epochs without an error. The first figure is the learning curve. The
# second one shows the weights from the input to each unit of the first hidden layer.
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    pairs = Table(Input=patterns(25, rng), Output=patterns(25, rng))
    with Trainer(network()) as sim:
        log = sim.train(pairs, epochs=60, trials=32, stop=stop_after_zero(2))
        weights = sim.path("Input", "Hidden1")
    for epoch in log.rows("epoch"):
        print(*(f"{name} {epoch[name]:.3f}" for name in ("epoch", "error", "unit_error")))
    plot_learning(log, "out/random_associator.png")
    plot_receptive_fields(weights, (5, 5), "out/receptive_fields.png")
