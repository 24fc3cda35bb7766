"""REST API for metafields."""
