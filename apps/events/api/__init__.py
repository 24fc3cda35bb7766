"""The REST interface of events."""
