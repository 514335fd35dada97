"""From models and plans to kernels as text."""
