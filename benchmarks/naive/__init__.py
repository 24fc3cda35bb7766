"""The same resource as most people write it with DRF: ModelSerializer, default middleware, a connection per request."""
