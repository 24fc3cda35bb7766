"""REST resources of shops and installations."""
