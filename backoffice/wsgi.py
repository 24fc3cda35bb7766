"""The WSGI entry point, behind a guard for requests that Django could not even begin to read."""

import os

from django.core.wsgi import get_wsgi_application

from backoffice.connections import end_with_threads
from backoffice.guard import guard

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

end_with_threads()
application = guard(get_wsgi_application())
