"""Create a customer with an address and an event, without a framework but with the values that the product computes.

All other columns have the defaults of the product's models (``benchmarks.bulk_insert.set_column_defaults``).
"""

import json
import re
import time
import uuid
from typing import Any

from benchmarks.floors.common import get_connection

_CUSTOMER = """
INSERT INTO customers_customer (shop_id, first_name, last_name, email, email_key, phone, verified_email, note, tags,
    search_text, search_own, search_places, version)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_ADDRESS = """
INSERT INTO customers_address (shop_id, customer_id, first_name, last_name, company, address1, city, country,
    country_code, zip)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'SE', %s) RETURNING id
"""
_DEFAULT = "UPDATE customers_customer SET default_address_id = %s WHERE id = %s"
_EVENT = """
INSERT INTO events_event (shop_id, key, topic, subject_type, subject_id, subject_label, coded_label, actor, "group",
    request_id)
VALUES (%s, %s, 'customers/create', 'customers.customer', %s, %s, %s, 'app:1', %s, %s)
"""
_STARTS = re.compile(r" |(?<=[^\w ])(?=\w)")


def add_word_marks(text: str, mark: str = " ") -> str:
    """Return the text with a mark before each word and an end mark. This is sufficient for the benchmark's data."""
    return mark + _STARTS.sub(mark, text.casefold()) + "\x0f" if text else ""


def build_search_columns(customer: dict[str, Any]) -> dict[str, str]:
    """Return the search columns for a customer in a request body, with the same values as in the product."""
    first, last, email, phone = (customer[name] for name in ("first_name", "last_name", "email", "phone"))
    company, city, code = (customer["addresses"][0][name] for name in ("company", "city", "zip"))
    own = (
        add_word_marks(first, "\x01")
        + add_word_marks(last, "\x02")
        + add_word_marks(email, "\x03")
        + add_word_marks(customer["note"], "\x05")
    )
    return {
        "search_text": "".join(map(add_word_marks, (email, phone, phone[3:], f"{first} {last}", company))),
        "search_own": own + "".join(f"\x04{tag.casefold()}\x0f" for tag in customer["tags"].split(", ")),
        "search_places": add_word_marks(city, "\x06") + add_word_marks(company, "\x0e") + f"\x08{code}\x0f\x10se\x0f",
    }


def create_customer(shop_id: int, body: dict[str, Any]) -> int:
    """Insert the customer of a request body in the caller's transaction; return the new id."""
    customer = body["customer"]
    first, last, email, phone = (customer[name] for name in ("first_name", "last_name", "email", "phone"))
    execute = get_connection().execute
    row: Any = execute(
        _CUSTOMER,
        (
            shop_id,
            first,
            last,
            email,
            email.lower(),
            phone,
            customer["verified_email"],
            customer["note"],
            customer["tags"],
            *build_search_columns(customer).values(),
            time.time_ns(),
        ),
        prepare=True,
    ).fetchone()
    customer_id: int = row[0]
    index = [customer["addresses"][0][name] for name in ("company", "address1", "city", "country", "zip")]
    row = execute(_ADDRESS, (shop_id, customer_id, first, last, *index), prepare=True).fetchone()
    execute(_DEFAULT, (row[0], customer_id), prepare=True)
    identity = uuid.uuid4()
    label = json.dumps({"code": "customers.customer", "params": {"number": customer_id}})
    values = (shop_id, uuid.uuid4(), customer_id, f"Customer {customer_id}", label, identity, str(identity))
    execute(_EVENT, values, prepare=True)
    return customer_id


def build_example(number: int) -> str:
    """Return a request body that ``number`` makes unique. ``load.lua`` sends the same body."""
    return json.dumps(
        {
            "customer": {
                "first_name": "Grace",
                "last_name": "Hopper",
                "email": f"grace.hopper.{number}@bench.example",
                "phone": f"+467{number:08d}",
                "verified_email": True,
                "note": "Met at the fair; asked for the catalogue",
                "tags": "vip, wholesale",
                "addresses": [
                    {
                        "company": "Northwind Traders",
                        "address1": "Storgatan 1",
                        "city": "Lund",
                        "country": "Sweden",
                        "zip": "22222",
                    }
                ],
            }
        }
    )
