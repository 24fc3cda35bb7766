"""Commands of refunds."""
