"""Declarations of resources: serializers, fields and filters."""
