"""Several LPUs: who publishes what to whom, on which rank, and how the values get there."""
