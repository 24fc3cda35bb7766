"""Refunds: money given back to customers, and the items the money is for."""
