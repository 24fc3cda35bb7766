"""Business logic of webhooks."""
