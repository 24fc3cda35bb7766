"""Create the demo shop's 200 customers, with names in many languages. Every run creates the same customers.

Names are random combinations of common names. If a country reserves phone numbers for fiction, the demo uses these
numbers.
"""

import random
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.hashers import make_password
from slugify import slugify

from apps.core.tenancy.models import Shop
from apps.customers.domain import customers
from apps.customers.models import ConsentState, Customer, OptInLevel
from apps.demo.data.countries import DEMO_COUNTRIES, DemoCountry

COUNT = 200
TAGS = ("vip", "newsletter", "wholesale", "knitter", "press", "friend of the house", "loyal", "gift buyer")
NOTES = (
    "Prefers parcels without plastic.",
    "Asked for an invoice with a VAT number.",
    "Calls before noon, please.",
    "Allergic to wool; likes the cotton range.",
    "Ordered for a school class; ask about next term in August.",
)


def load_demo_customers(shop: Shop, at: datetime) -> None:
    rng = random.Random(20)  # noqa: S311 - the demo must be the same each time
    # A random password. All accounts share the hash, because hashing takes a quarter of a second.
    password = make_password(secrets.token_urlsafe())
    for number in range(COUNT):
        country = DEMO_COUNTRIES[number % len(DEMO_COUNTRIES)]
        created_at = at - timedelta(days=rng.randrange(1, 700), minutes=rng.randrange(1440))
        _create_customer(rng, country, number, password, created_at)


def _create_customer(rng: random.Random, country: DemoCountry, number: int, password: str, at: datetime) -> None:
    first, last = rng.choice(country.first_names), rng.choice(country.last_names)
    name_parts = slugify(f"{first} {last}").split("-")
    email = f"{'.'.join(name_parts)}{number}@{rng.choice(('example.com', 'example.org', 'example.net'))}"
    attrs = {
        "first_name": first,
        "last_name": last,
        "email": email,
        "phone": country.phone.format(number) if number % 3 else "",
        "verified_email": rng.random() < 0.7,
        "tags": ", ".join(sorted(rng.sample(TAGS, rng.choice((0, 0, 1, 1, 2, 3))))),
        "note": rng.choice(NOTES) if rng.random() < 0.15 else "",
        "tax_exempt": rng.random() < 0.05,
        "addresses": [_address(rng, country, first, last) for _ in range(rng.choice((1, 1, 1, 2, 3)))],
        **_consents(rng, at, with_phone=bool(number % 3)),
        "metafields": [_birthday(number)] if number % 10 == 0 else [],
        "created_at": at,
    }
    draft = customers.draft_customer(attrs, at=at)
    if number % 20 == 0:
        rng.getrandbits(64)  # the first release drew a password here, and the next customers must stay the same
        draft.customer.password, draft.customer.state = password, Customer.State.ENABLED
    (customer,) = customers.create_from_drafts([draft], actor="system", at=at)
    if number % 20 in {5, 6}:
        state = Customer.State.INVITED if number % 20 == 5 else Customer.State.DECLINED
        Customer.objects.filter(pk=customer.pk).update(state=state)


def _birthday(number: int) -> dict[str, str]:
    day = f"{1950 + number * 7 % 55}-{1 + number % 12:02d}-{1 + number % 28:02d}"
    return {"namespace": "loyalty", "key": "birthday", "type": "date", "value": day}


def _address(rng: random.Random, country: DemoCountry, first: str, last: str) -> dict[str, str]:
    city, province, code = rng.choice(country.cities)
    return {
        "first_name": first,
        "last_name": last,
        "company": rng.choice(country.companies) if rng.random() < 0.2 else "",
        "address1": rng.choice(country.streets).format(rng.randrange(1, 120)),
        "city": city,
        "province": province,
        "zip": code,
        "country_code": country.country_code,
    }


def _consents(rng: random.Random, at: datetime, *, with_phone: bool) -> dict[str, dict[str, object]]:
    values: dict[str, dict[str, object]] = {}
    roll = rng.random()
    if roll < 0.5:
        state = ConsentState.SUBSCRIBED if roll < 0.4 else ConsentState.UNSUBSCRIBED
        level = OptInLevel.CONFIRMED if roll < 0.2 else OptInLevel.SINGLE
        values["email_marketing_consent"] = {"state": state, "opt_in_level": level, "updated_at": at}
    if with_phone and rng.random() < 0.2:
        consent = {"state": ConsentState.SUBSCRIBED, "opt_in_level": OptInLevel.SINGLE, "updated_at": at}
        values["sms_marketing_consent"] = consent
    return values
