"""LPUs and the step loop."""
