"""The workflows of shops and apps."""
