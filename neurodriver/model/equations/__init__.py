"""Models that are written as equations: from ``dV/dt = ...`` to the text that other models have.

`declared` reads the lines, `system` knows what depends on what, `steps`, `relaxing` and `exact`
write one method of integration each, `expand` puts a class together.
"""
