"""The demo store's customers: two hundred people in many countries and scripts, the same at every run.

Names are put together at random from common ones; phones are from ranges kept for fiction where a country has one.
"""

import random
from datetime import datetime, timedelta

from slugify import slugify

from apps.customers.demo.places import PLACES, Place
from apps.customers.domain import customers
from apps.customers.models import ConsentState, Customer, OptInLevel
from apps.shops.models import Shop

COUNT = 200
TAGS = ("vip", "newsletter", "wholesale", "knitter", "press", "friend of the house", "loyal", "gift buyer")
NOTES = (
    "Prefers parcels without plastic.",
    "Asked for an invoice with a VAT number.",
    "Calls before noon, please.",
    "Allergic to wool; likes the cotton range.",
    "Ordered for a school class; ask about next term in August.",
)


def make(shop: Shop, at: datetime) -> None:
    """Put the customers into a fresh demo shop."""
    chance = random.Random(20)  # noqa: S311 - the demo must be the same each time
    for number in range(COUNT):
        place = PLACES[number % len(PLACES)]
        _make_one(chance, place, number, at - timedelta(days=chance.randrange(1, 700), minutes=chance.randrange(1440)))


def _make_one(chance: random.Random, place: Place, number: int, at: datetime) -> None:
    first, last = chance.choice(place.first_names), chance.choice(place.last_names)
    words = slugify(f"{first} {last}").split("-")
    email = f"{'.'.join(words)}{number}@{chance.choice(('example.com', 'example.org', 'example.net'))}"
    attrs = {
        "first_name": first,
        "last_name": last,
        "email": email,
        "phone": place.phone.format(number) if number % 3 else "",
        "verified_email": chance.random() < 0.7,
        "tags": ", ".join(sorted(chance.sample(TAGS, chance.choice((0, 0, 1, 1, 2, 3))))),
        "note": chance.choice(NOTES) if chance.random() < 0.15 else "",
        "tax_exempt": chance.random() < 0.05,
        "addresses": [_address(chance, place, first, last) for _ in range(chance.choice((1, 1, 1, 2, 3)))],
        **_consents(chance, at, with_phone=bool(number % 3)),
        **({"password": f"demo-{chance.getrandbits(64):x}"} if number % 20 == 0 else {}),
        "metafields": [_birthday(number)] if number % 10 == 0 else [],
        "created_at": at,
    }
    customer = customers.create_customer(attrs, actor="system", at=at)
    if number % 20 in {5, 6}:
        state = Customer.State.INVITED if number % 20 == 5 else Customer.State.DECLINED
        Customer.objects.filter(pk=customer.pk).update(state=state)


def _birthday(number: int) -> dict[str, str]:
    day = f"{1950 + number * 7 % 55}-{1 + number % 12:02d}-{1 + number % 28:02d}"
    return {"namespace": "loyalty", "key": "birthday", "type": "date", "value": day}


def _address(chance: random.Random, place: Place, first: str, last: str) -> dict[str, str]:
    city, province, code = chance.choice(place.cities)
    return {
        "first_name": first,
        "last_name": last,
        "company": chance.choice(place.companies) if chance.random() < 0.2 else "",
        "address1": chance.choice(place.streets).format(chance.randrange(1, 120)),
        "city": city,
        "province": province,
        "zip": code,
        "country_code": place.country_code,
    }


def _consents(chance: random.Random, at: datetime, *, with_phone: bool) -> dict[str, dict[str, object]]:
    given: dict[str, dict[str, object]] = {}
    wish = chance.random()
    if wish < 0.5:
        state = ConsentState.SUBSCRIBED if wish < 0.4 else ConsentState.UNSUBSCRIBED
        level = OptInLevel.CONFIRMED if wish < 0.2 else OptInLevel.SINGLE
        given["email_marketing_consent"] = {"state": state, "opt_in_level": level, "updated_at": at}
    if with_phone and chance.random() < 0.2:
        given["sms_marketing_consent"] = {
            "state": ConsentState.SUBSCRIBED,
            "opt_in_level": OptInLevel.SINGLE,
            "updated_at": at,
        }
    return given
