from apps.customers.domain.personal_data import PersonalData, file_exporters, personal_data_parts
from apps.imports_exports.resources.privacy import create_personal_data_export, get_imports_to_lock, redact_files

file_exporters.add(create_personal_data_export)
personal_data_parts.register("files", PersonalData(redact=redact_files, locked_before=get_imports_to_lock))
