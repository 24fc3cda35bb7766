"""Who works in a shop, and what they may do."""
