"""Files that go out and come in."""
