"""Pictures and other binary content from outside: recognised, named, decoded and resized without a database.

picture: a file of pixels that came in. image: the catalog's resource, which shows a picture.
rendition: a picture in another size, made from it when it is first asked for.
content: bytes that a shop keeps once, however many rows refer to them.
"""
