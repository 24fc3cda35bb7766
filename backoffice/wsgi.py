"""The WSGI entry point, behind a guard for requests that Django could not even begin to read."""

import os

from django.core.wsgi import get_wsgi_application

from apps.ground.deadlines import keep_deadlines
from backoffice.guard import guard

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
# Clients can come again; one locked table must not hold every thread until then. Jobs and commands wait longer.
os.environ.setdefault("BACKOFFICE_LOCK_TIMEOUT_MS", "2500")

application = guard(get_wsgi_application())
keep_deadlines()
