"""REST interface of refunds."""
