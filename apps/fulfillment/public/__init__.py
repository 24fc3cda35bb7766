"""Fulfillment on the customer's order status page."""
