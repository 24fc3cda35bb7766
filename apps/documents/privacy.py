from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.documents.domain import privacy

personal_data_parts.register(
    "documents", PersonalData(export=privacy.export_documents, redact=privacy.redact_documents)
)
