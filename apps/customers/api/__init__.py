"""The REST face of customers."""
