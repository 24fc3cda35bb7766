"""REST API for content."""
