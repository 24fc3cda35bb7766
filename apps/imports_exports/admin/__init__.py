from apps.imports_exports.admin import event_subjects
from apps.imports_exports.admin.exports import ExportAdmin
from apps.imports_exports.admin.imports import ImportAdmin
