"""Domain logic for refunds."""
