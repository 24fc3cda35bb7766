from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories.gift_cards import adjust, make_gift_card

CARD = {"gift_card": {"initial_value": "100.00", "note": "For Ada", "code": "ABCD EFGH IJKL MNOP"}}
ADJUSTMENT = {"adjustment": {"amount": "-10.00", "note": "Lunch", "remote_transaction_ref": "t-1"}}


def make_card_id(world: SampleContext) -> Attrs:
    return {"id": make_gift_card().pk}


def make_card_of_path(world: SampleContext) -> Attrs:
    return {"card_id": make_gift_card().pk}


def make_adjustment_ids(world: SampleContext) -> Attrs:
    row = adjust(make_gift_card().pk)
    return {"card_id": row.card_id, "id": row.pk}


register_sample("GET gift_cards.json", arrange=make_card_id)
register_sample("POST gift_cards.json", CARD, status=201)
register_sample("GET gift_cards/count.json", arrange=make_card_id)
register_sample("GET gift_cards/search.json", arrange=make_card_id)
register_sample("GET gift_cards/<id>.json", arrange=make_card_id)
register_sample("PUT gift_cards/<id>.json", {"gift_card": {"note": "Later"}}, arrange=make_card_id)
register_sample("POST gift_cards/<id>/disable.json", arrange=make_card_id, status=201, bodiless=True)
register_sample("GET gift_cards/<card_id>/adjustments.json", arrange=make_adjustment_ids)
register_sample("POST gift_cards/<card_id>/adjustments.json", ADJUSTMENT, arrange=make_card_of_path, status=201)
register_sample("GET gift_cards/<card_id>/adjustments/<id>.json", arrange=make_adjustment_ids)
