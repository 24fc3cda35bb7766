"""Domain functions for fulfillment."""
