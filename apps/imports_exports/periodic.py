from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.imports_exports.domain import files, imports

periodic_task("imports_exports.delete_abandoned_files", Every.HOUR)(imports.delete_abandoned_files)
periodic_task("imports_exports.delete_refused_files", Every.HOUR)(imports.delete_refused_files)
periodic_task("imports_exports.delete_orphan_files", Every.HOUR)(files.delete_orphan_files)
