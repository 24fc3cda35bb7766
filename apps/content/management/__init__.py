"""Commands of inventory."""
