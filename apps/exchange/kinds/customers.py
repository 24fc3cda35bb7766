"""Customers in files. Coming in they are known by e-mail or phone; their ids mean nothing here."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from apps.api.resources.related import TakenRows
from apps.api.resources.serializers import read_body
from apps.api.rows.plans import plan_for
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.customers import MAX_ADDRESSES, CustomerSerializer
from apps.customers.domain import consents
from apps.customers.domain.addresses import COLUMNS as ADDRESS_COLUMNS
from apps.customers.domain.contacts import NotAnEmail, NotAPhone, canonical_email, canonical_phone, email_key
from apps.customers.domain.customers import create_customer, update_customer
from apps.customers.domain.validation import CustomerRefused, clean
from apps.customers.models import EDITABLE, Customer
from apps.exchange.domain.cells import is_true, word
from apps.exchange.domain.kinds import Exporter, Importer, Kind, Shown
from apps.exchange.domain.rows import Body, Cells, Fate, Outcome, RawRow
from apps.exchange.kinds.interface import file_context, file_version, rows_refused
from apps.ground.tenancy import current_shop

# The columns of an address in a table, in their order.
ADDRESS = ("first_name", "last_name", "company", "address1", "address2", "city", "province", "country", "zip", "phone")
# Those of a customer's own address are the customer's.
_SHARED = ("first_name", "last_name", "phone")
_PLACE = tuple(name for name in ADDRESS if name not in _SHARED)
_CONSENTS = ("accepts_marketing", *consents.FIELDS)


# --- out -------------------------------------------------------------------------------------------------------------


class WholeCustomerSerializer(CustomerSerializer):
    """A customer with all addresses, where the interface shows ten."""

    addresses = TakenRows(AddressSerializer, "addresses", order=("-updated_at", "-pk"), most=MAX_ADDRESSES)


def _read(ids: Sequence[int]) -> list[Shown]:
    context = file_context()
    objects = plan_for(WholeCustomerSerializer, context.version).read_ids(ids, context)
    return [objects[pk] for pk in ids if pk in objects]


def _cells(shown: Shown) -> Iterable[Shown]:
    address = shown["default_address"] or {}
    own = {name: shown[name] for name in (*_SHARED, "email", "tags", "note", "orders_count", "total_spent")}
    return [
        {
            **{name: address.get(name) for name in _PLACE},
            **own,
            "accepts_marketing": word(shown["email_marketing_consent"]["state"] == "subscribed"),
            "tax_exempt": word(shown["tax_exempt"]),
        }
    ]


# --- in --------------------------------------------------------------------------------------------------------------


def _body(rows: Sequence[Cells]) -> Body:
    """A row of a table as the body of a customer."""
    row = rows[0]
    body: dict[str, object] = {name: row[name] for name in (*_SHARED, "email", "tags", "note") if name in row}
    for name in ("accepts_marketing", "tax_exempt"):
        if row.get(name):
            body[name] = is_true(row[name])
    address = {name: row[name] for name in ADDRESS if row.get(name)}
    if address.keys() - set(_SHARED):
        body["addresses"] = [address]
    return body


def _key(row: RawRow, body: Body) -> str:
    return str(body.get("email") or body.get("phone") or row.digest).casefold()


def _take_in(row: RawRow, body: Body, *, actor: str, at: datetime) -> Outcome:
    """Make a customer, or change the one with the same e-mail or phone."""
    known = _known(body)
    given = {name: body[name] for name in (*EDITABLE, *_CONSENTS) if body.get(name) not in (None, "")}
    if known is None:
        given["addresses"] = _addresses(body)
    with rows_refused():
        attrs = read_body(CustomerSerializer, file_version(), given, instance=known)
    if known is None:
        made = create_customer(attrs, actor=actor, at=at)
        return Outcome(Fate.NEW, made.event_label)
    cleaned, errors = clean(attrs, customer=known, shop=current_shop(), at=at)
    if errors:
        raise CustomerRefused(errors)
    before = known.version
    changed = {name: value for name, value in cleaned.items() if _differs(known, name, value)}
    if not changed:
        return Outcome(Fate.SKIPPED, known.event_label, "is known already, and nothing differs")
    after = update_customer(known, changed, actor=actor, at=at)
    return Outcome(Fate.CHANGED if after.version != before else Fate.SKIPPED, known.event_label)


def _known(body: Body) -> Customer | None:
    email, phone = body.get("email"), body.get("phone")
    try:
        if isinstance(email, str) and email:
            found = Customer.objects.filter(email_key=email_key(canonical_email(email))).first()
            if found is not None:
                return found
        if isinstance(phone, str) and phone:
            return Customer.objects.filter(phone=canonical_phone(phone, current_shop().country_code)).first()
    except (NotAnEmail, NotAPhone):
        # What is wrong is said when the customer is made.
        return None
    return None


def _addresses(body: Body) -> object:
    """The addresses as those of a new customer: the default first, then from the least recently used to the most.

    What is no address is left for the check of the body to refuse.
    """
    given = body.get("addresses")
    if not isinstance(given, list):
        return given
    chosen = [item for item in given if isinstance(item, dict) and item.get("default") is True]
    return [
        {name: item[name] for name in ADDRESS_COLUMNS if item.get(name)} if isinstance(item, dict) else item
        for item in [*chosen, *(item for item in reversed(given) if item not in chosen)]
    ]


def _differs(customer: Customer, name: str, value: Any) -> bool:
    if name == "email":
        return email_key(value) != customer.email_key
    if (channel := consents.FIELDS.get(name)) is not None:
        state = consents.consent_of(customer, channel).state
        return bool(value.get("state", state) != state)
    return hasattr(customer, name) and getattr(customer, name) != value


_TABLE = (
    "first_name",
    "last_name",
    "email",
    "phone",
    "accepts_marketing",
    *_PLACE,
    "tags",
    "note",
    "tax_exempt",
    "orders_count",
    "total_spent",
)
CUSTOMERS = Kind(
    name="customers",
    label="Customers",
    singular="customer",
    exporter=Exporter(
        model=Customer,
        permission="customers.export_customer",
        granted_by="export_customers",
        topic="orders/export",
        filters=("state",),
        columns=_TABLE,
        read=_read,
        cells=_cells,
    ),
    importer=Importer(
        permission="customers.add_customer",
        granted_by="customers",
        columns=_TABLE,
        body=_body,
        key=_key,
        repeated=Fate.CHANGED,
        take_in=_take_in,
    ),
)
