from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.store_imports.domain.redaction import redact_problems

personal_data_parts.register("store imports", PersonalData(redact=redact_problems))
