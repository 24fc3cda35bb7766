"""Commands of content."""
