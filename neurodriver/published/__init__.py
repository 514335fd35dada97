"""Programs of published models, with their functions, arguments and files."""
