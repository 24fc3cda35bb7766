"""The REST face of metafields."""
