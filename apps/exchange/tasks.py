"""Background tasks for imports and exports."""

from apps.exchange.domain import exports, import_tasks, imports, stored_files
from apps.jobs.domain import housekeeping


def register_exchange_tasks() -> None:
    exports.register_export_tasks()
    import_tasks.register_import_tasks()
    housekeeping.register_hourly_task("import files", imports.delete_abandoned_files)
    housekeeping.register_hourly_task("orphaned files of exports and imports", stored_files.delete_orphan_files)
