"""Program to C++ for the CPU."""
