"""The commands, one module each; every one calls one public function."""
