"""The state of a simulation at one step, free of backend and layout: taken, put back, stored."""
