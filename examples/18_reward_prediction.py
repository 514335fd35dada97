"""Dopamine tells how much better things are than predicted, and teaches the prediction.

A cue predicts a reward. Each step of time after the cue has a unit of its own, which is active in
this step. The weights from these units to a critic are its predictions. Dopamine is the error of
the prediction. It changes the weights of the units that were active one step before.

python examples/18_reward_prediction.py
"""

import matplotlib.pyplot as plt
import numpy as np

import neurodriver as nd

# %%
# Three models: units of the cue, a critic, and dopamine.
STEP = 0.1  # s
LAG = 3  # steps until a unit's activity has gone through critic and dopamine, and is judged


class Stimulus(nd.NDComponent):
    """Unit that is active in one step; ``seen`` is what it was when dopamine judges it."""

    accesses, updates = ("I",), {"x": "1", "seen": "1"}
    states = {name: nd.State("1", 0.0) for name in ("x", "once", "twice", "seen")}
    update = "seen = twice; twice = once; once = x; x = I;"


class Critic(nd.NDComponent):
    """Predicts the sum of later rewards from the units that are active."""

    accesses, updates = (nd.Weighted("x", receptor="active"),), {"V": "1"}
    states = {"V": nd.State("1", 0.0)}
    update = "V = active;"


class Dopamine(nd.NDComponent):
    """Error of the prediction: reward, and discounted new prediction, minus the old prediction."""

    reference = "Schultz, Dayan & Montague 1997, doi:10.1126/science.275.5306.1593"
    accesses, updates = (nd.Weighted("V", receptor="value"), "reward"), {"error": "1"}
    params = {"discount": nd.Parameter("1", default=1.0, at_least=0.0, at_most=1.0)}
    states = {"error": nd.State("1", 0.0), "before": nd.State("1", 0.0)}
    update = "error = reward + discount * value - before; before = value;"


# %%
# The rule of plasticity. Its modulator is the level of dopamine.


class ErrorRule(nd.Plasticity):
    """Weights change by the error, where the source was active."""

    reference = Dopamine.reference
    params = {
        "rate": nd.Parameter("1", default=0.2, at_least=0.0),
        "least": nd.Parameter("1", default=-100.0),
        "most": nd.Parameter("1", default=100.0),
    }
    modulators = {"dopamine": nd.Level("error")}
    bounds = ("least", "most")
    on_step = "weight = clip(weight + rate * dopamine * pre.seen);"


# %%
# The circuit, and one run of it.


def learner(units, rate, discount):
    """Return the circuit: units of the cue, a critic, and dopamine."""
    cue = nd.Population(Stimulus, units, name="cue")
    critic = nd.Population(Critic, 1, name="critic")
    dopamine = nd.Population(Dopamine, 1, name="dopamine", discount=discount)
    rule = ErrorRule(rate=rate, dopamine=dopamine)
    links = [
        nd.Projection(cue, critic, nd.AllToAll(), weight=0.0, plasticity=rule, name="prediction"),
        nd.Projection(critic, dopamine, nd.OneToOne(), weight=1.0),
    ]
    return nd.Circuit([cue, critic, dopamine], links)


def run(active, reward, rate=0.2, discount=1.0):
    """Return dopamine in each step, (steps,), and the weights at the end, (units,).

    ``active`` is what is shown, (steps, units), and ``reward`` is what is given, (steps,).
    """
    steps, units = active.shape
    shown, given = np.zeros((steps + LAG, units)), np.zeros((steps + LAG, 1))
    shown[:steps], given[LAG - 1 : -1, 0] = active, reward  # rewards meet the critic's values
    inputs = [
        nd.ArrayInput({"I": ([f"cue/{unit}" for unit in range(units)], shown)}),
        nd.ArrayInput({"reward": (["dopamine/0"], given)}),
    ]
    with nd.LPU(learner(units, rate, discount), STEP, inputs) as lpu:
        lpu.run(steps=steps + LAG, record=["error"])
        return lpu.recording.error[LAG:, 0], lpu["prediction"].get("weight")


def trials(count, steps, cue, reward, omitted=()):
    """Return what is shown and given in some trials: the cue, and at another step the reward."""
    active, given = np.zeros((count, steps, reward - cue)), np.zeros((count, steps))
    active[:, np.arange(cue, reward), np.arange(reward - cue)] = 1
    given[[trial for trial in range(count) if trial not in omitted], reward] = 1
    return active.reshape(count * steps, -1), given.ravel()


# %%
# If the reward follows the cue at once, the prediction grows as Rescorla and Wagner (1972) say.
# If it follows ten steps later, dopamine moves from the reward to the cue, trial by trial. After
# that, a reward that is left out lowers dopamine at the time at which it was expected.


def main():
    """Draw how a prediction is learned, and how dopamine moves from the reward to the cue."""
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")

    # The reward follows at once. Rescorla and Wagner: V = 1 - (1 - rate)^n after n trials.
    shown, given = trials(25, 5, cue=1, reward=2)
    error, _ = run(shown, given, discount=0.0)
    number = np.arange(25)
    panels[0].plot(number, 1 - error.reshape(25, 5)[:, 2], "o", color="#4477AA", label="network")
    panels[0].plot(number, 1 - 0.8**number, color="#CC6677", label="$1 - (1 - 0.2)^n$")
    panels[0].set(xlabel="trial n", ylabel="predicted reward", title="Rescorla-Wagner")
    panels[0].legend(frameon=False)

    # The reward follows 10 steps later. The last trial has none.
    shown, given = trials(200, 20, cue=4, reward=14, omitted=(199,))
    error, _ = run(shown, given)
    each = error.reshape(200, 20)
    image = panels[1].imshow(each, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1, origin="lower")
    panels[1].set(xlabel="step", ylabel="trial", title="temporal differences")
    figure.colorbar(image, ax=panels[1], label="dopamine")
    for trial, colour in ((0, "#999933"), (30, "#CC6677"), (198, "#4477AA"), (199, "#117733")):
        name, line = (f"trial {trial}", "-") if trial < 199 else ("no reward", "--")
        panels[2].plot(each[trial], line, color=colour, label=name)
    panels[2].set(xlabel="step", ylabel="dopamine", title="from the reward to the cue")
    panels[2].legend(frameon=False, fontsize=8)
    for panel in (panels[0], panels[2]):
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig("out/reward_prediction.png", dpi=150)
    at_cue, at_reward = each[[0, 198], 4], each[[0, 198, 199], 14]
    print("dopamine at the cue, first and late:", *at_cue.round(2))
    print("dopamine at the reward, first, late and omitted:", *at_reward.round(2))


if __name__ == "__main__":
    main()
