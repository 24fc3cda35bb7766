"""Pages of apps outside of the panel."""
