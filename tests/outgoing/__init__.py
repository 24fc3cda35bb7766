"""Tests of the guarded outgoing HTTP client, on loopback sockets alone."""
