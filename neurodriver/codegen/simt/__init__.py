"""Program to text for devices of many threads."""
