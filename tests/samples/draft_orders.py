from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories.draft_orders import make_draft_order

DRAFT = {
    "draft_order": {
        "line_items": [{"title": "Custom Tee", "price": "20.00", "quantity": 2}],
        "applied_discount": {
            "description": "Custom discount",
            "value_type": "fixed_amount",
            "value": "10.0",
            "amount": "10.00",
            "title": "Custom",
        },
        "email": "ada@example.com",
    }
}
INVOICE = {"draft_order_invoice": {"to": "ada@example.com", "subject": "Your offer", "custom_message": "Thank you!"}}


def make_draft_id(world: SampleContext) -> Attrs:
    return {"id": make_draft_order(email="ada@example.com").pk}


register_sample("GET draft_orders.json", arrange=make_draft_id)
register_sample("POST draft_orders.json", DRAFT, status=201)
register_sample("GET draft_orders/count.json", arrange=make_draft_id)
register_sample("GET draft_orders/<id>.json", arrange=make_draft_id)
register_sample("PUT draft_orders/<id>.json", {"draft_order": {"note": "Call first"}}, arrange=make_draft_id)
register_sample("DELETE draft_orders/<id>.json", arrange=make_draft_id)
register_sample("PUT draft_orders/<id>/complete.json", arrange=make_draft_id, bodiless=True)
register_sample("POST draft_orders/<id>/send_invoice.json", INVOICE, arrange=make_draft_id, status=201, bodiless=True)
register_sample(
    "GET draft_orders/<draftorder_id>/events.json",
    arrange=lambda world: {"draftorder_id": make_draft_id(world)["id"]},
)
