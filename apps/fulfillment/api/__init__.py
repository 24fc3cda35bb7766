"""The REST face of fulfillment."""
