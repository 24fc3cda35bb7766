"""Recording what happens, and telling it."""
