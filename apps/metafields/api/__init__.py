"""The REST resource of metafields."""
