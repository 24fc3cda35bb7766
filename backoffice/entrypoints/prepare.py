"""``python -m backoffice.entrypoints.prepare``: check the services, and prepare the database, files and demo shop.

``make run`` starts this process before all others, and the memory of the preparation is free again when the process
ends. Progress goes to standard error. Standard output contains how to log in, which ``make run`` prints when the web
server responds.
"""

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from backoffice.configuration import env
from backoffice.configuration.private_files import use_private_umask

# Static files of libraries that no page uses, so they are not collected.
IGNORED_STATIC_FILES = ["rest_framework", "xregexp", "gis"]


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    public_umask = use_private_umask()
    with env.exit_on_configuration_error():
        import django

        django.setup()
        from backoffice import startup_checks

        startup_checks.check_services()
    from django.core.management import call_command

    _report("Preparing the database …")
    with _finish_before_stop():
        call_command("migrate", verbosity=0)
    _report("Collecting static files …")
    os.umask(public_umask)
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=IGNORED_STATIC_FILES)
    use_private_umask()
    sys.stdout.write(_prepare_login())


def _prepare_login() -> str:
    """Return how to log in. Create the demo shop if the database is the embedded one."""
    from django.conf import settings
    from django.core.management import call_command

    if env.get_text("DATABASE_URL"):
        # An existing database contains real data, so do not create a demo shop or a token in the database.
        return f"\n  Panel  {settings.BASE_URL}/admin/   (create a login: manage.py createsuperuser)\n\n"
    from apps.core.tenancy.models import Shop
    from apps.demo.management.commands.demo import DOMAIN

    if not Shop.objects.filter(domain=DOMAIN).exists():
        _report("Creating the demo shop …")
    credentials = io.StringIO()
    # If the process is stopped here, the transaction is rolled back, and the next start creates the shop.
    call_command("demo", first=True, stdout=credentials)
    return credentials.getvalue()


@contextmanager
def _finish_before_stop() -> Iterator[None]:
    """Exit after the block if SIGTERM arrives in the block, because some migrations do not run in a transaction."""
    is_stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True

    previous = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, previous)
    if is_stopped:
        sys.exit(0)


def _report(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
