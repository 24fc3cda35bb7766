"""Product files: read, compare with existing products, and write; ``resource`` declares the resource."""
