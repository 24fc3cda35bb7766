"""Fulfillment orders, fulfillments, tracking, and fulfillment services."""
