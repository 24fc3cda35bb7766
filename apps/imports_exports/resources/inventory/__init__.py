"""Import and export the stock of variants at locations."""
