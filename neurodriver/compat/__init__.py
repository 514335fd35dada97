"""The old library's names over this one: its LPU, its import paths and a runner for its scripts."""
