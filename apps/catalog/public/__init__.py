"""Pictures of products for everybody."""
