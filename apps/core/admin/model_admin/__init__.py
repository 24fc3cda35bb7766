"""Base classes for the panel's lists and forms."""
