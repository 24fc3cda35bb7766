"""The REST interface of the catalog."""
