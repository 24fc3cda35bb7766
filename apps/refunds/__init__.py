"""Refunds: money that goes back, and the goods that it is for."""
