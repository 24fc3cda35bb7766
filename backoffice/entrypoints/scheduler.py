"""``python -m backoffice.entrypoints.scheduler``: the Celery beat scheduler. Run exactly one scheduler process."""

from backoffice.configuration.env import exit_on_configuration_error
from backoffice.configuration.private_files import use_private_umask


def main() -> None:
    use_private_umask()
    with exit_on_configuration_error():
        from backoffice.celery import app
        from backoffice.observability import heartbeat

        heartbeat.start_heartbeat("scheduler")
        app.start(["--quiet", "beat", "--loglevel", "WARNING"])


if __name__ == "__main__":
    main()
