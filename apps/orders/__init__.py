"""Orders: what was bought, by whom, for how much, and how it was paid."""
