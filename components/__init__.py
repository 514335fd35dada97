"""The model library: one class per file; adding a model is adding a file."""
