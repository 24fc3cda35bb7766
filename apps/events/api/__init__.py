"""The REST face of events."""
