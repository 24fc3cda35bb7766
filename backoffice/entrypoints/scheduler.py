"""``python -m backoffice.entrypoints.scheduler``: the Celery beat scheduler. Run exactly one scheduler process."""

from backoffice.configuration.env import exit_on_configuration_error


def main() -> None:
    with exit_on_configuration_error():
        from backoffice.celery import app
        from backoffice.observability import heartbeat

        heartbeat.start_heartbeat("scheduler")
        app.start(["--quiet", "beat", "--loglevel", "WARNING"])


if __name__ == "__main__":
    main()
