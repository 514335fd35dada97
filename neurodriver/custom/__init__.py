"""Models that bring code: classes with ``run_step``, and with kernels of their own."""
