"""The background work of customers."""

from apps.customers import mails


def register_all() -> None:
    """Add the tasks."""
    mails.register_all()
