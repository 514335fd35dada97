"""Point neurons with synapses of their own, for spiking networks."""
