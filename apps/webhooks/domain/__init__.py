"""Business logic for webhooks."""
