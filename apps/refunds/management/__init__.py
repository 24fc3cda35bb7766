"""Management commands of refunds."""
