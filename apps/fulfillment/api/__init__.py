"""REST API for fulfillment."""
