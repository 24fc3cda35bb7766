"""Metafields, which are typed custom fields for many resources."""
