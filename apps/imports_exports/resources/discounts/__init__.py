"""Import and export discounts with their codes."""
