"""Images and other uploaded binary content: validation, names, resizing; without database access.

picture: an uploaded image file. image: the catalog's REST resource. rendition: a resized version of an image, created
on
first request. content: bytes that a shop stores once, however many rows refer to them.
"""
