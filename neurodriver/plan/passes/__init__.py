"""Passes: each rewrites a circuit before it is planned."""
