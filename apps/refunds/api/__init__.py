"""The REST face of refunds."""
