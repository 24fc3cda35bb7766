"""Products in files: how they are read, compared with what is there, and stored; ``kind`` is what is offered."""
