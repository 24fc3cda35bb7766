"""The background work of imports and exports."""

from apps.exchange.domain import exports, files, import_jobs, imports
from apps.jobs.domain import housekeeping


def register_all() -> None:
    """Add the tasks, and what housekeeping clears."""
    exports.register_all()
    import_jobs.register_all()
    housekeeping.register("import files", imports.clear_left)
    housekeeping.register("files of exports and imports that nobody knows", files.clear_strays)
