"""The background work of orders."""

from apps.orders import mails


def register_all() -> None:
    """Add the tasks."""
    mails.register_all()
