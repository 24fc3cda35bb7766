"""The REST resource of payment handlers."""
