"""Domain functions of fulfillment."""
