"""Where kernels are built and run."""
