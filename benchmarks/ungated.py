"""The product's settings with Django's own SQLite connection: writers do not queue; for ``writers``."""

from backoffice.settings import *  # noqa: F403 - all of them
from backoffice.settings import DATABASES

DATABASES["default"]["ENGINE"] = "django.db.backends.sqlite3"
