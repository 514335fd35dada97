"""A backend beside the CPU: every step compared."""
