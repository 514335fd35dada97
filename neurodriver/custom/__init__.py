"""Models of one's own in the old style: kernel templates and classes with ``run_step``."""
