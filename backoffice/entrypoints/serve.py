"""The entry point of the web server, which is configured by environment variables.

``HOST`` and ``PORT`` set the address. ``WEB_PROCESSES`` and ``WEB_THREADS`` set how many requests run concurrently.
"""

import sys

from backoffice.configuration.env import exit_on_configuration_error
from backoffice.configuration.private_files import use_private_umask
from backoffice.entrypoints.run_all import require_port

COMMAND = ["gunicorn", "-c", "python:backoffice.server.gunicorn_config", "backoffice.asgi"]


def main() -> None:
    """Run gunicorn until stopped. Accepted requests are finished before the process exits."""
    use_private_umask()
    with exit_on_configuration_error():
        require_port()
        import backoffice.server.gunicorn_config  # noqa: F401 - checks the settings
    from gunicorn.app.wsgiapp import run

    sys.argv = COMMAND
    run()


if __name__ == "__main__":
    main()
