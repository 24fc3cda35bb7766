"""``python -m backoffice.scheduler``: rings for what is due, once a while; one of it suffices."""

from backoffice.variables import told_in_a_sentence


def main() -> None:
    """Ring until told to stop."""
    with told_in_a_sentence():
        from backoffice import alive
        from backoffice.celery import app

        alive.keep("scheduler")
        app.start(["--quiet", "beat", "--loglevel", "WARNING"])


if __name__ == "__main__":
    main()
