"""Images and other binary content from outside: recognised, named, decoded and resized without a database."""
