"""Services of collections."""
