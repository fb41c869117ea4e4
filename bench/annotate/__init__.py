"""Human studies: send conversations to people who rate them, and import their ratings."""
