from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.refunds.domain import privacy

personal_data_parts.register("refunds", PersonalData(export=privacy.export_refund_notes, redact=privacy.redact_refunds))
