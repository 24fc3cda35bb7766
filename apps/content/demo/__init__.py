"""The demo store's content."""
