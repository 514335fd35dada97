"""Models as the old library has them: kernel templates, internal states, helpers of instances."""
