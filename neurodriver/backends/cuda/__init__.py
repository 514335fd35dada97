"""The CUDA backend: programs on one GPU."""
