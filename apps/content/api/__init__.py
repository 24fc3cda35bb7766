"""The REST face of content."""
