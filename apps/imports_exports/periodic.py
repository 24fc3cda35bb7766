from apps.core.jobs.periodic_tasks import hourly_tasks
from apps.imports_exports.domain import files, imports

hourly_tasks.register("import files", imports.delete_abandoned_files)
hourly_tasks.register("orphaned files of exports and imports", files.delete_orphan_files)
