"""The REST face of the catalog."""
