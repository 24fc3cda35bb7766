"""The OpenAPI documents of the interface."""
