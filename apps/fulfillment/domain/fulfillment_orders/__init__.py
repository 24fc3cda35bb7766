"""Fulfillment orders: routing, states, quantities, requests and moves."""
