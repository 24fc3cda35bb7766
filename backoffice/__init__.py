"""The Django project: settings, root URLs, and entry points of the processes."""
