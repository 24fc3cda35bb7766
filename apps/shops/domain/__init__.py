"""Domain logic of shops and apps."""
