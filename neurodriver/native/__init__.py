"""The host compiler, its cache, and C headers that all stages may use."""
