"""Tests of the guarded HTTP client, on loopback sockets only."""
