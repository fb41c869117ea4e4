"""Sound files: measuring them, reading recordings and tasks, and holding their bytes during a run."""
