"""Which evidence counts, and the boards that are published from it."""
