"""Record and describe events."""
