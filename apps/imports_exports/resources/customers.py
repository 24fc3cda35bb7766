"""Import and export customer files. Imports identify customers by email or phone, and ignore ids in the file."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, prefetch_related_objects
from django.utils.translation import gettext_lazy

from apps.core.db.case_folding import build_email_key
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.resources.nested_rows import WritableNestedRows
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.customers import MAX_ADDRESSES, CustomerSerializer
from apps.customers.domain import consents
from apps.customers.domain.addresses import COLUMNS as ALL_ADDRESS_COLUMNS
from apps.customers.domain.addresses import split_name
from apps.customers.domain.customers import CustomerDraft, create_from_drafts, draft_customer, update_customer
from apps.customers.domain.fields import CUSTOMER_FIELDS, EDITABLE_FIELDS, IDENTIFYING_FIELDS
from apps.customers.domain.lookup import find_all_by_contacts, get_contact_keys
from apps.customers.domain.validation import CustomerRefused, clean_customer
from apps.customers.models import Address, ConsentState, Customer
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.flags import parse_flags
from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import (
    UNCHANGED,
    Body,
    Cells,
    ImportRow,
    NotedBody,
    RowOutcome,
    RowResult,
    create_failed_outcome,
)
from apps.imports_exports.resources.cells import (
    ADDRESS_ALIASES,
    ADDRESS_COLUMNS,
    MORE_ADDRESS_ALIASES,
    READ_ADDRESS_COLUMNS,
    build_address,
    convert_api_errors,
    file_context,
    get_member_names,
)
from apps.imports_exports.resources.column_labels import get_customer_label
from apps.imports_exports.resources.column_words import CUSTOMER_WORDS, merge_words

# The customer's own columns. If addresses have the same column, the file contains the customer's data.
_CUSTOMER_FIELDS = tuple(field.name for field in CUSTOMER_FIELDS if field.in_csv)
_FLAGS = tuple(name for name in _CUSTOMER_FIELDS if isinstance(Customer._meta.get_field(name), BooleanField))
_ADDRESS_FIELDS = tuple(name for name in ADDRESS_COLUMNS if name not in _CUSTOMER_FIELDS)
_SMS = "accepts_sms_marketing"
_CONSENTS = ("accepts_marketing", *consents.FIELDS)
# Columns of fields with another name.
_FIELD_COLUMNS = {
    **{f"addresses.{name}": name for name in READ_ADDRESS_COLUMNS},
    "addresses.phone": "address_phone",
    "email_marketing_consent.state": "accepts_marketing",
    "sms_marketing_consent.state": _SMS,
}
# The labels of row results contain no personal data.
_LABEL_PREFIX = "customer:"
_ADDRESS_IGNORED = define_text(
    "customer_imports.address_ignored", "The address is ignored: addresses are only imported for new customers."
)
_ONLY_ADDRESS_DIFFERS = define_text(
    "customer_imports.only_address_differs",
    "Already exists and is unchanged. The address is ignored: addresses are only imported for new customers.",
)

_NO_SMS_PHONE = define_text(
    "customer_imports.no_sms_phone", "The SMS marketing consent was not imported, because the row has no phone number."
)


class WholeCustomerSerializer(CustomerSerializer):
    """A customer with all addresses. The REST API returns at most ten addresses."""

    addresses = WritableNestedRows(AddressSerializer, "addresses", order=("-updated_at", "-pk"), most=MAX_ADDRESSES)


def _read_customers(ids: Sequence[int]) -> list[ObjectData]:
    context = file_context()
    objects_by_id = get_read_plan(WholeCustomerSerializer, context.version).read_ids(ids, context)
    return [objects_by_id[pk] for pk in ids if pk in objects_by_id]


def _convert_to_cells(customer: ObjectData) -> Iterable[ObjectData]:
    address = customer["default_address"] or {}
    return [
        {
            **{name: address.get(name) for name in _ADDRESS_FIELDS},
            **{name: customer[name] for name in (*_CUSTOMER_FIELDS, *_COMPUTED)},
            **{name: format_bool(customer[name]) for name in _FLAGS},
            "accepts_marketing": format_bool(_is_subscribed(customer["email_marketing_consent"])),
            "accepts_sms_marketing": format_bool(_is_subscribed(customer["sms_marketing_consent"])),
            "address_phone": address.get("phone"),
        }
    ]


def _is_subscribed(consent: ObjectData | None) -> bool:
    return consent is not None and consent["state"] == ConsentState.SUBSCRIBED


def _parse_row(rows: Sequence[Cells]) -> NotedBody:
    row = rows[0]
    flags = ("accepts_marketing", *_FLAGS)
    body: dict[str, object] = {name: row[name] for name in _CUSTOMER_FIELDS if name in row and name not in flags}
    body |= parse_flags(row, dict(zip(flags, flags, strict=True)))
    notes = []
    accepts_sms = parse_flags(row, {_SMS: _SMS}).get(_SMS)
    if accepts_sms is not None and row.get("phone", "").strip():
        state = ConsentState.SUBSCRIBED if accepts_sms else ConsentState.NOT_SUBSCRIBED
        body["sms_marketing_consent"] = {"state": state}
    elif accepts_sms:
        notes.append(_NO_SMS_PHONE)
    address = build_address(row)
    full_name = address.pop("name", "")
    if full_name and not address.keys() & {"first_name", "last_name"}:
        address |= dict(zip(("first_name", "last_name"), split_name(full_name), strict=True))
    body |= {name: address[name] for name in ("first_name", "last_name") if address.get(name)}
    if "address_phone" in row:
        # In a file without this column, the phone of the customer is also the phone of the address.
        address.pop("phone", None)
        address |= {"phone": row["address_phone"]} if row["address_phone"] else {}
    if address.keys() - set(_CUSTOMER_FIELDS) or row.get("address_phone"):
        body["addresses"] = [address]
    return NotedBody(body, notes)


def _get_contact_keys(body: Body) -> tuple[str, str]:
    addresses = body.get("addresses")
    address = addresses[0] if isinstance(addresses, list) and addresses and isinstance(addresses[0], dict) else None
    return get_contact_keys(email=body.get("email"), phone=body.get("phone"), address=address)


def _get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    email, phone = _get_contact_keys(body)
    return [key for key in (email, phone) if key] or [row.digest]


def _import_customers(
    rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
) -> list[RowOutcome]:
    """Create customers, or update those with the same email or phone, with one lookup and one bulk insert."""
    outcomes: list[RowOutcome] = []
    new: dict[int, CustomerDraft] = {}
    addressed: dict[int, Customer] = {}
    keys = [_get_contact_keys(body) for _, body in rows]
    for (_, body), matches in zip(rows, find_all_by_contacts(keys, locked=not dry), strict=True):
        try:
            customer, values = matches.resolve_customer(), _get_customer_values(body)
            if customer is None:
                new[len(outcomes)], outcome = _prepare_new(body, values, at)
            else:
                outcome = _update_existing(customer, values, actor=actor, at=at, dry=dry)
                if body.get("addresses"):
                    addressed[len(outcomes)] = customer
        except DomainError as error:
            outcome = create_failed_outcome(error)
        outcomes.append(outcome)
    prefetch_related_objects(list(addressed.values()), "addresses")
    for index, customer in addressed.items():
        if _has_ignored_address(customer, rows[index][1]):
            is_skipped = outcomes[index].result == RowResult.SKIPPED
            outcomes[index] = replace(outcomes[index], reason=_ONLY_ADDRESS_DIFFERS if is_skipped else _ADDRESS_IGNORED)
    if new and not dry:
        created = create_from_drafts(list(new.values()), actor=actor, at=at)
        for index, created_customer in zip(new, created, strict=True):
            outcomes[index] = replace(outcomes[index], label=_get_label(created_customer.pk))
    return outcomes


def _get_customer_values(body: Body) -> dict[str, object]:
    """Return the customer's fields from a body, except the addresses."""
    values = {name: body[name] for name in (*EDITABLE_FIELDS, *_CONSENTS) if body.get(name) not in (None, "")}
    for channel in consents.CHANNEL_DEFINITIONS.values():
        consent = values.get(channel.field)
        is_unsubscribed = isinstance(consent, Mapping) and consent.get("state") == ConsentState.NOT_SUBSCRIBED
        if is_unsubscribed and not body.get(channel.contact):
            # Exports contain both consents of every customer. Ignore a consent if its email or phone is missing.
            del values[channel.field]
    return values


def _prepare_new(body: Body, values: dict[str, object], at: datetime) -> tuple[CustomerDraft, RowOutcome]:
    values["addresses"] = _sort_addresses(body)
    with convert_api_errors():
        attrs = validate_body(CustomerSerializer, get_latest_version(), values)
    return draft_customer(attrs, at=at), RowOutcome(
        RowResult.NEW, changes={name: (None, _format_for_preview(value)) for name, value in values.items() if value}
    )


def _update_existing(customer: Customer, values: ReadOnlyAttrs, *, actor: str, at: datetime, dry: bool) -> RowOutcome:
    """Update the fields of an existing customer that differ. A dry run only reports the differences."""
    with convert_api_errors():
        attrs = validate_body(CustomerSerializer, get_latest_version(), values, instance=customer)
    cleaned, errors = clean_customer(attrs, customer=customer, shop=get_current_shop(), at=at)
    if errors:
        raise CustomerRefused(errors)
    changed = {name: value for name, value in cleaned.items() if _is_different(customer, name, value)}
    if not changed:
        return RowOutcome(RowResult.SKIPPED, _get_label(customer.pk), UNCHANGED)
    changes = {
        name: (_format_for_preview(_get_current_value(customer, name)), _format_for_preview(value))
        for name, value in changed.items()
    }
    before = customer.version
    is_same = not dry and update_customer(customer, changed, actor=actor, at=at).version == before
    return RowOutcome(RowResult.SKIPPED if is_same else RowResult.CHANGED, _get_label(customer.pk), changes=changes)


def _get_current_value(customer: Customer, name: str) -> object:
    channel = consents.FIELDS.get(name)
    return getattr(customer, name) if channel is None else {"state": consents.get_consent(customer, channel).state}


def _format_for_preview(value: object) -> object:
    """Return a value for the preview. A consent is shown as its state, and addresses as a count."""
    if isinstance(value, Mapping):
        return str(value.get("state", ""))
    if isinstance(value, list):
        return ", ".join(map(str, value)) if all(isinstance(item, str) for item in value) else len(value)
    return value


def _sort_addresses(body: Body) -> object:
    """Return the addresses in the order in which they are created for a new customer.

    The default address comes first. The other addresses are reversed, so that the most recently used address comes
    last. Invalid values are kept, so that the body validation reports them.
    """
    addresses = body.get("addresses")
    if not isinstance(addresses, list):
        return addresses
    defaults = [item for item in addresses if isinstance(item, dict) and item.get("default") is True]
    return [
        {name: item[name] for name in ALL_ADDRESS_COLUMNS if item.get(name)} if isinstance(item, dict) else item
        for item in [*defaults, *(item for item in reversed(addresses) if item not in defaults)]
    ]


def _is_different(customer: Customer, name: str, value: Any) -> bool:
    if name == "email":
        return build_email_key(value) != customer.email_key
    if (channel := consents.FIELDS.get(name)) is not None:
        state = consents.get_consent(customer, channel).state
        return bool(value.get("state", state) != state)
    return hasattr(customer, name) and getattr(customer, name) != value


def _find_customers(labels: Collection[str]) -> dict[str, Customer]:
    ids = [pk for pk in map(_get_id, labels) if pk]
    return {_get_label(row.pk): row for row in Customer.objects.filter(pk__in=ids)}


def _get_label(pk: int) -> str:
    return f"{_LABEL_PREFIX}{pk}"


def _get_id(label: str) -> int:
    """Return the id in a label, or 0 if the label is from a file."""
    number = label.removeprefix(_LABEL_PREFIX)
    return int(number) if number != label and number.isdecimal() else 0


def _describe_missing(label: str) -> str:
    return Customer(pk=pk).event_label if (pk := _get_id(label)) else label


def _has_ignored_address(customer: Customer, body: Body) -> bool:
    """Return True if the import ignores an address in the row that the existing customer does not have yet."""
    addresses = [item for item in body.get("addresses") or () if isinstance(item, dict)]
    existing = list(customer.addresses.all()) if addresses else []
    return any(all(_is_different_address(item, row) for row in existing) for item in addresses)


def _is_different_address(item: ReadOnlyAttrs, address: Address) -> bool:
    names = (name for name in _ADDRESS_FIELDS if item.get(name))
    return any(_fold(item[name]) != _fold(getattr(address, name)) for name in names)


def _fold(value: object) -> str:
    return str(value or "").strip().casefold()


_COMPUTED = ("orders_count", "total_spent")
_TABLE = (
    *IDENTIFYING_FIELDS,
    "accepts_marketing",
    _SMS,
    *_ADDRESS_FIELDS,
    "address_phone",
    *(name for name in _CUSTOMER_FIELDS if name not in IDENTIFYING_FIELDS),
    *_COMPUTED,
)
# The names that other systems use.
_ALIASES: dict[str, Sequence[str]] = {
    **{
        name: [
            *aliases,
            *(f"Default Address {alias}" for alias in (aliases if name in _CUSTOMER_FIELDS else (*aliases, name))),
            *(f"Billing {alias}" for alias in (*aliases, name)),
        ]
        for name, aliases in (ADDRESS_ALIASES | MORE_ADDRESS_ALIASES).items()
    },
    "address_phone": ("Default Address Phone",),
    "email": ("E-mail Address", "Mail", "User Email", "Billing email"),
    "accepts_marketing": ("Accepts Email Marketing", "Newsletter", "Subscribed"),
    "note": ("Notes", "Customer Note"),
    "name": ("Full Name", "Customer Name", "Default Address Name"),
    "tags": ("Tag",),
    "orders_count": ("Orders", "Total Orders"),
    "total_spent": ("Total Spend",),
}
CUSTOMERS = Resource(
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
        read_objects=_read_customers,
        get_cells=_convert_to_cells,
    ),
    importer=Importer(
        permission="customers.add_customer",
        granted_by="customers",
        models=(Customer, Address),
        columns=(*_TABLE, *MORE_ADDRESS_ALIASES),
        aliases=merge_words(_ALIASES, CUSTOMER_WORDS),
        field_columns=_FIELD_COLUMNS,
        get_label=get_customer_label,
        unsupported=("Customer ID",),
        members=get_member_names(CustomerSerializer),
        # A table with names only, such as ``Name`` and ``Total``, may contain anything.
        identifying_columns=tuple(name for name in _TABLE if name not in {"tags", "note", *_COMPUTED}),
        body=_parse_row,
        keys=_get_keys,
        duplicate_result=RowResult.CHANGED,
        import_rows=_import_customers,
        find=_find_customers,
        describe_missing=_describe_missing,
        computed_columns=_COMPUTED,
    ),
)
