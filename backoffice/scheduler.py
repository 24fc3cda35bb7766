"""``python -m backoffice.scheduler``: the Celery beat scheduler. Run exactly one scheduler process."""

from backoffice.env import exit_on_configuration_error


def main() -> None:
    """Run the scheduler until stopped."""
    with exit_on_configuration_error():
        from backoffice import heartbeat
        from backoffice.celery import app

        heartbeat.start_heartbeat("scheduler")
        app.start(["--quiet", "beat", "--loglevel", "WARNING"])


if __name__ == "__main__":
    main()
