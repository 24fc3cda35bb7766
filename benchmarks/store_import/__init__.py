"""Import a large store that changes during the import, with a process that is killed again and again."""
