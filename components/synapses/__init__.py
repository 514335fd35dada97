"""Synapses."""
