"""Images and other uploaded binary content: validation, names, resizing; without database access.

A rendition is a resized version of an image, created on the first request. Content is bytes that a shop stores once,
however many rows refer to the bytes.
"""
