"""REST interface of fulfillment."""
