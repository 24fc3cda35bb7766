"""Business logic of metafields."""
