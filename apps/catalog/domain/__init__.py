"""Services for the catalog."""
