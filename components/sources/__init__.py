"""Sources: components that need no input."""
