"""What a shop sells: products, variants, images and collections."""
