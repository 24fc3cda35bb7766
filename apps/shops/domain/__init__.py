"""Domain logic for shops and apps."""
