"""REST resources of staff."""
