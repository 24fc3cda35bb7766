from apps.draft_orders.domain import numbering
from apps.draft_orders.models import DraftOrder
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.shops.domain.settings import currency_objections

currency_objections.add(numbering.find_currency_objection)
owner_types.add(OwnerType("draft_orders", "draft_order", DraftOrder, scope="draft_orders", is_personal=True))
