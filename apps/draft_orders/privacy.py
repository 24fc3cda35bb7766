from functools import partial

from apps.customers.domain.merge import MergePart, merge_parts, move_rows
from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.draft_orders.domain import privacy
from apps.draft_orders.domain.draft_orders import UPDATED

personal_data_parts.register(
    "draft_orders",
    PersonalData(
        export=privacy.export_drafts, redact=privacy.redact_drafts, locked_before=privacy.get_drafts_to_redact
    ),
)
merge_parts.register(
    "draft_orders", MergePart(rows=privacy.get_customer_drafts, move=partial(move_rows, topic=UPDATED))
)
