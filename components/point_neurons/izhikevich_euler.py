"""Simple model of spiking neurons, explicit Euler."""

from .izhikevich import Izhikevich


class IzhikevichEuler(Izhikevich):
    """Simple model of spiking neurons, explicit Euler: Izhikevich with one step for V and u.

    Both are advanced by ``dt`` from their old values, so results converge, to first order, where
    the step goes to 0. Spike rule, arrivals and presets as Izhikevich.

    Limits: at 1 ms it is not stable; take 0.1 ms or less.
    """

    update = """
        real slope = (0.04 * V + 5) * V + 140 - u + drive;
        u += dt_ms * a * (b * V - u);
        V += dt_ms * slope;
        if (V >= peak) {
            V = c;
            u += d;
            spike_state = 1;
        }
    """
