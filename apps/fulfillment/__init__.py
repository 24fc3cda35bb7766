"""Fulfillment: who prepares and ships what was ordered."""
