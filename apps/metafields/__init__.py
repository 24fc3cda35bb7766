"""Metafields: typed custom fields for any resource."""
