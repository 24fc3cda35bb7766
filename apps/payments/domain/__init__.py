"""Business logic of payments."""
