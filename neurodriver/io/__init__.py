"""Files and tables to circuits, and back."""
