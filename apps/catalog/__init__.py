"""Products, variants, images and collections of shops."""
