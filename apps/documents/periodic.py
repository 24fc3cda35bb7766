from apps.core.jobs.consistency_checks import register_check
from apps.documents.domain import consistency_checks as checks

_COMPARE = "Compare the document with a backup. Do not correct an issued document: cancel it and issue a new one."
register_check(
    "document numbers",
    checks.check_document_numbers,
    "Issue no documents in this shop until you have found the reason. Tell the shop about missing numbers.",
)
register_check("documents", checks.check_documents, _COMPARE)
register_check("credit notes", checks.check_credit_notes, _COMPARE)
