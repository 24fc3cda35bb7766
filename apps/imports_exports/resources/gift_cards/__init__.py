"""Import and export gift cards."""
