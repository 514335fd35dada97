"""How spikes travel from their sources to the slots of their targets."""
