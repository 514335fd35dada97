"""From a circuit to what the kernels need: aggregators, delays in steps, memory, plans."""
