"""Product files. ``resource`` declares the resource, and the other modules read, compare and write products."""
