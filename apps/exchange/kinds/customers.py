"""Customers in files. Coming in they are known by e-mail or phone; their ids mean nothing here."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import prefetch_related_objects
from django.utils.translation import gettext_lazy, gettext_noop

from apps.api.resources.related import TakenRows
from apps.api.resources.serializers import read_body
from apps.api.rows.plans import plan_for
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.customers import MAX_ADDRESSES, CustomerSerializer
from apps.customers.domain import consents
from apps.customers.domain.addresses import COLUMNS as ADDRESS_COLUMNS
from apps.customers.domain.contacts import email_key
from apps.customers.domain.customers import Draft, create_drafted, draft, update_customer
from apps.customers.domain.known import keys_of, known_by_each
from apps.customers.domain.validation import CustomerRefused, clean
from apps.customers.models import EDITABLE, Address, ConsentState, Customer
from apps.exchange.domain.cells import is_true, word
from apps.exchange.domain.kinds import Exporter, Importer, Kind, Shown
from apps.exchange.domain.rows import Body, Cells, Changes, Fate, Outcome, RawRow, failed
from apps.exchange.kinds.addresses import ADDRESS, PLACE_ALIASES
from apps.exchange.kinds.interface import file_context, file_version, members_of, rows_refused
from apps.exchange.kinds.samples import SAMPLE_CUSTOMERS
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop

# Those of a customer's own address are the customer's.
_SHARED = ("first_name", "last_name", "phone")
_PLACE = tuple(name for name in ADDRESS if name not in _SHARED)
_CONSENTS = ("accepts_marketing", *consents.FIELDS)
_NUMBERED = re.compile(r"Customer ([0-9]{1,18})")
_ADDRESS_LEFT = gettext_noop("The address is left out: files bring addresses of new customers alone.")
_ONLY_ADDRESS = gettext_noop(
    "Is known already, and nothing else differs. The address is left out: files bring addresses of new customers alone."
)


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
    own = {name: shown[name] for name in (*_SHARED, "email", "tags", "note", *_FOLLOWING)}
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


def _keys(row: RawRow, body: Body) -> Sequence[str]:
    """By what a customer is known again within a file: the e-mail, then the phone."""
    email, phone = keys_of(email=body.get("email"), phone=body.get("phone"))
    return [key for key in (email, phone) if key] or [row.digest]


def _take_in(row: RawRow, body: Body, *, actor: str, at: datetime) -> Outcome:
    """Make a customer, or change the one with the same e-mail or phone."""
    return _take_in_many([(row, body)], actor=actor, at=at, dry=False)[0]


def _take_in_many(rows: Sequence[tuple[RawRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[Outcome]:
    """The same of many: looked up together, and the new ones stored together."""
    outcomes: list[Outcome] = []
    new: dict[int, Draft] = {}
    addressed: dict[int, Customer] = {}
    wanted = [keys_of(email=body.get("email"), phone=body.get("phone")) for _, body in rows]
    for (_, body), found in zip(rows, known_by_each(wanted, locked=not dry), strict=True):
        try:
            known, given = found.one(), _given(body)
            if known is None:
                new[len(outcomes)], outcome = _made(body, given, at)
            else:
                outcome = _changed(known, given, actor=actor, at=at, dry=dry)
                if body.get("addresses"):
                    addressed[len(outcomes)] = known
        except DomainError as refusal:
            outcome = failed(refusal)
        outcomes.append(outcome)
    prefetch_related_objects(list(addressed.values()), "addresses")
    for place, known in addressed.items():
        if _left_address(known, rows[place][1]):
            skipped = outcomes[place].fate == Fate.SKIPPED
            outcomes[place] = replace(outcomes[place], reason=_ONLY_ADDRESS if skipped else _ADDRESS_LEFT)
    if new and not dry:
        made = create_drafted(list(new.values()), actor=actor, at=at)
        for place, customer in zip(new, made, strict=True):
            outcomes[place] = replace(outcomes[place], label=customer.event_label)
    return outcomes


def _given(body: Body) -> dict[str, object]:
    """What a body says of a customer, beside the addresses."""
    given = {name: body[name] for name in (*EDITABLE, *_CONSENTS) if body.get(name) not in (None, "")}
    for channel in consents.KINDS.values():
        if not body.get(channel.contact) and _is_none(given.get(channel.field)):
            # Shown of everybody, and taken only together with what it is given for.
            del given[channel.field]
    return given


def _made(body: Body, given: dict[str, object], at: datetime) -> tuple[Draft, Outcome]:
    """A new customer, and what the row is said to be.

    Raises:
        CustomerRefused, RowRefused: The values do not fit.
    """
    given["addresses"] = _addresses(body)
    with rows_refused():
        attrs = read_body(CustomerSerializer, file_version(), given)
    return draft(attrs, at=at), Outcome(Fate.NEW, changes=_first(given))


def _changed(known: Customer, given: Given, *, actor: str, at: datetime, dry: bool) -> Outcome:
    """Change what differs of a customer who is known, or say what would be.

    Raises:
        CustomerRefused, RowRefused: The values do not fit.
    """
    with rows_refused():
        attrs = read_body(CustomerSerializer, file_version(), given, instance=known)
    cleaned, errors = clean(attrs, customer=known, shop=current_shop(), at=at)
    if errors:
        raise CustomerRefused(errors)
    changed = {name: value for name, value in cleaned.items() if _differs(known, name, value)}
    if not changed:
        return Outcome(Fate.SKIPPED, known.event_label, gettext_noop("is known already, and nothing differs"))
    changes = {name: (_plain(_present(known, name)), _plain(value)) for name, value in changed.items()}
    before = known.version
    if not dry and update_customer(known, changed, actor=actor, at=at).version == before:
        return Outcome(Fate.SKIPPED, known.event_label, changes=changes)
    return Outcome(Fate.CHANGED, known.event_label, changes=changes)


def _first(given: Given) -> Changes:
    """What the preview shows of a new customer."""
    return {name: (None, _plain(value)) for name, value in given.items() if value}


def _is_none(consent: object) -> bool:
    return isinstance(consent, Mapping) and consent.get("state") == ConsentState.NOT_SUBSCRIBED


def _present(customer: Customer, name: str) -> object:
    """What a field of a customer says now."""
    channel = consents.FIELDS.get(name)
    return getattr(customer, name) if channel is None else {"state": consents.consent_of(customer, channel).state}


def _plain(value: object) -> object:
    """A value as the preview shows it: of a consent its state, of addresses how many."""
    if isinstance(value, Mapping):
        return str(value.get("state", ""))
    if isinstance(value, list):
        return ", ".join(map(str, value)) if all(isinstance(item, str) for item in value) else len(value)
    return value


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


def _find(labels: Collection[str]) -> dict[str, Customer]:
    """The customers whose labels these are, which hold their numbers."""
    numbers = [int(found[1]) for found in map(_NUMBERED.fullmatch, labels) if found]
    return {row.event_label: row for row in Customer.objects.filter(pk__in=numbers)}


def _left_address(known: Customer, body: Body) -> bool:
    """Whether a row brings an address that a known customer does not have, and that is not taken."""
    given = [item for item in body.get("addresses") or () if isinstance(item, dict)]
    there = [{name: _folded(getattr(row, name)) for name in _PLACE} for row in known.addresses.all()] if given else []
    return any(all(_is_another(item, row) for row in there) for item in given)


def _is_another(given: Given, there: Mapping[str, str]) -> bool:
    return any(_folded(given[name]) != there[name] for name in _PLACE if given.get(name))


def _folded(value: object) -> str:
    return str(value or "").strip().casefold()


_FOLLOWING = ("orders_count", "total_spent")
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
    *_FOLLOWING,
)
# What exports of other systems call our columns.
_ALIASES = {
    **PLACE_ALIASES,
    **{f"Default Address {alias}": name for alias, name in PLACE_ALIASES.items()},
    **{f"Default Address {name}": name for name in _PLACE},
    **{f"Billing {alias}": name for alias, name in PLACE_ALIASES.items()},
    **{f"Billing {name}": name for name in (*_SHARED, "email", *_PLACE)},
    "E-mail Address": "email",
    "Mail": "email",
    "User Email": "email",
    "Accepts Email Marketing": "accepts_marketing",
    "Newsletter": "accepts_marketing",
    "Subscribed": "accepts_marketing",
    "Notes": "note",
    "Customer Note": "note",
    "Tag": "tags",
    "Orders": "orders_count",
    "Total Orders": "orders_count",
    "Total Spend": "total_spent",
}
CUSTOMERS = Kind(
    name="customers",
    label=gettext_lazy("Customers"),
    singular="customer",
    exporter=Exporter(
        model=Customer,
        permission="customers.export_customer",
        granted_by="export_customers",
        topic="customers/export_list",
        filters=("state",),
        columns=_TABLE,
        read=_read,
        cells=_cells,
    ),
    importer=Importer(
        permission="customers.add_customer",
        granted_by="customers",
        models=(Customer, Address),
        columns=_TABLE,
        aliases=_ALIASES,
        members=members_of(CustomerSerializer),
        sample=SAMPLE_CUSTOMERS,
        body=_body,
        keys=_keys,
        repeated=Fate.CHANGED,
        take_in=_take_in,
        take_in_many=_take_in_many,
        find=_find,
        following=_FOLLOWING,
    ),
)
