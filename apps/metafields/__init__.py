"""Further fields of any resource, with checked types."""
