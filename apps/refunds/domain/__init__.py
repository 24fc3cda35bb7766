"""Domain logic of refunds."""
