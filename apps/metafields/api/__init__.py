"""REST interface of metafields."""
