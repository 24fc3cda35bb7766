"""Taking a request."""
