"""Tests for the guarded HTTP client, on loopback sockets only."""
