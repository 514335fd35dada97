"""Small aids of the old library, under their old names."""
