"""Plan, run and store what a suite still needs: one implementation for every caller."""
