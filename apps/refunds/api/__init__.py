"""REST API for refunds."""
