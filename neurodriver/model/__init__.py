"""How a model declares what it reads, what it writes and its mathematics."""
