"""Declaring resources."""
