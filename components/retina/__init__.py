"""Photoreceptors and their inputs."""
