"""The background work of orders."""

from apps.orders import mails
from apps.orders.exchange import exports, imports


def register_all() -> None:
    """Add the tasks."""
    mails.register_all()
    exports.register_all()
    imports.register_all()
