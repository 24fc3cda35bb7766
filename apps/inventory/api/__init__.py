"""The REST face of inventory."""
