"""Generate the OpenAPI documents of the API."""
