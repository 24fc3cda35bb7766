"""Business logic for payments."""
