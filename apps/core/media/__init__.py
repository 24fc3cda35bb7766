"""Validate, name and resize images and other uploaded content, without database access.

A rendition is a resized version of an image, created on the first request.
"""
