"""App pages outside of the panel."""
