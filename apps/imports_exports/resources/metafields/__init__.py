"""Import and export metafields by owner, namespace and key."""
