"""Sums of synaptic currents."""
