"""How the inputs of an access are summed."""
