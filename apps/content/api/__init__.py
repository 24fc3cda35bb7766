"""The REST interface of the content app."""
