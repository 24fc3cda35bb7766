"""Business logic for metafields."""
