"""The product's settings with Django's own SQLite backend, for ``benchmarks.writers``."""

from backoffice.settings import *  # noqa: F403 - all of them
from backoffice.settings import DATABASES

DATABASES["default"]["ENGINE"] = "django.db.backends.sqlite3"
