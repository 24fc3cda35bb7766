"""The background work of orders."""

from apps.jobs import housekeeping
from apps.orders import mails
from apps.orders.exchange import exports, imports


def register_all() -> None:
    """Add the tasks, and what housekeeping clears."""
    mails.register_all()
    exports.register_all()
    imports.register_all()
    housekeeping.register("import files", imports.clear_left)
