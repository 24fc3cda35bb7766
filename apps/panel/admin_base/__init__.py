"""Base classes of the panel's lists and forms."""
