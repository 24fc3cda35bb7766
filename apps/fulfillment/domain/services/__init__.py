"""Fulfillment services: changes, notifications, polling and responses."""
