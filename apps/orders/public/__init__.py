"""The order status page for customers."""
