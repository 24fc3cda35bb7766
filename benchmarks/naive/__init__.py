"""A typical DRF app with the same resource: ModelSerializer, default middleware and a connection per request."""
