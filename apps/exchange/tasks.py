"""The background work of imports and exports."""

from apps.exchange.domain import exports, imports
from apps.jobs.domain import housekeeping


def register_all() -> None:
    """Add the tasks, and what housekeeping clears."""
    exports.register_all()
    imports.register_all()
    housekeeping.register("import files", imports.clear_left)
