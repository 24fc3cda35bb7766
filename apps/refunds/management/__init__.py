"""Management commands for refunds."""
