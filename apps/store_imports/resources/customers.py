"""Import customers with their addresses and marketing consents. Passwords can't be read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.db import IntegrityError, transaction
from django.db.models import Model, prefetch_related_objects

from apps.core.db.case_folding import build_email_key
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.customers import CustomerSerializer
from apps.customers.domain import consents
from apps.customers.domain.addresses import COLUMNS as ADDRESS_COLUMNS
from apps.customers.domain.addresses import MAX_LISTED_ADDRESSES, delete_addresses, set_default_address
from apps.customers.domain.customers import (
    create_customer,
    create_from_drafts,
    delete_customer,
    draft_customer,
    update_customer,
)
from apps.customers.models import Address, Customer
from apps.imports_exports.resources.cells import convert_api_errors
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import (
    ObjectGone,
    SourceObject,
    parse_source_moment,
    read_creation_time,
    refuse_malformed,
)
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.rest_objects import create_reader, read_objects

PAGE_SIZE = 100
_FIELDS = (
    *("first_name", "last_name", "email", "phone", "note", "verified_email", "multipass_identifier", "tax_exempt"),
    *("tax_exemptions", "tags"),
)
# The fields that null clears.
_NULLABLE_FIELDS = frozenset({"first_name", "last_name", "email", "phone", "note", "multipass_identifier"})
# Columns by which an address is compared. The names of regions follow from their codes.
_COMPARED = tuple(name for name in ADDRESS_COLUMNS if name not in {"country", "province", "name"})
_SAME_EMAIL = define_text(
    "store_imports.same_email", "Another customer of the store has the same email address and was imported before."
)
ERASED_REASON = "the customer's personal data was erased in this shop"
FROM_ORDERS = dict.fromkeys(
    ("orders_count", "total_spent", "currency", "last_order_id", "last_order_name"),
    "is calculated from the orders of the shop, and no orders were imported",
)
ERASED = define_text("store_imports.erased", "The customer's personal data was erased in this shop.")


class CustomerStream(Stream):
    name = "customers"
    resource = "customer"
    model: ClassVar[type[Model]] = Customer
    id_list = IdList("customers.json", "customers")
    comparison = Comparison(
        read=create_reader(CustomerSerializer),
        ids={
            "addresses.customer_id": "customer",
            "default_address.customer_id": "customer",
            "last_order_id": "order",
        },
        not_compared={
            "state": "passwords can't be read, so customers create new accounts",
            "accepts_marketing_updated_at": "the time of the last change of the consent in each shop",
        },
        limits={"last_order_name": "an order gets a new number if the shop already has its number"},
        unordered=("addresses",),
    )

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("customers/count.json", **source.change_filter)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return customers with all addresses. The list has at most ten addresses of each."""
        page = source.client.get_page(
            "customers.json", self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )
        for customer in page:
            if len(customer.get("addresses") or ()) >= MAX_LISTED_ADDRESSES:
                path = f"customers/{customer['id']}/addresses.json"
                try:
                    customer["addresses"] = list(source.client.iterate_pages(path, "addresses"))
                except ObjectGone:
                    continue
        return page

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        targets = _find_targets(source, objects)
        new = [row for row in objects if row["id"] not in targets]
        try:
            with transaction.atomic():
                created = _create_together(source, new)
        except (DomainError, IntegrityError):
            created = {row["id"]: write_in_savepoint(partial(_create, source, row)) for row in new}
        return [created.get(row["id"]) or _update_target(source, row, targets[row["id"]]) for row in objects]

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Customer)
        delete_customer(target, actor=ACTOR, at=at)

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        """Return customers with all addresses."""
        customers = super().read_own(source, target_ids)
        many = [pk for pk, row in customers.items() if len(row["addresses"]) >= MAX_LISTED_ADDRESSES]
        address_ids = Address.objects.filter(customer_id__in=many).order_by("pk").values_list("pk", flat=True)
        for pk in many:
            customers[pk]["addresses"] = []
        for address in read_objects(AddressSerializer, list(address_ids), source.client.version).values():
            customers[address["customer_id"]]["addresses"].append(address)
        return customers

    def get_comparison(self, source: Source) -> Comparison:
        """Compare the totals from orders only if orders were imported."""
        if source.ids.has_entries("order"):
            return self.comparison
        return replace(self.comparison, not_compared={**self.comparison.not_compared, **FROM_ORDERS})

    def find_exempt(self, target_ids: Collection[int]) -> Mapping[int, str]:
        return find_erased(target_ids)


def find_erased(target_ids: Collection[int]) -> Mapping[int, str]:
    """Return the reason not to compare customers with erased personal data, by id."""
    erased = Customer.objects.filter(pk__in=target_ids, redacted_at__isnull=False)
    return dict.fromkeys(erased.values_list("pk", flat=True), ERASED_REASON)


def _find_targets(source: Source, objects: Sequence[SourceObject]) -> Mapping[int, Customer | None]:
    """Return the existing customers by source id: those imported before, and those with the same email.

    The value is None if the customer with this email was imported from another customer of the source.
    """
    known = source.ids.get_target_ids("customer", [row["id"] for row in objects])
    by_id = Customer.objects.in_bulk(list(known.values()))
    targets: dict[int, Customer | None] = {source_id: by_id[pk] for source_id, pk in known.items() if pk in by_id}
    keys = {}
    for row in objects:
        if row["id"] not in targets and row.get("email"):
            with refuse_malformed("customers", row):
                keys[build_email_key(row["email"])] = row["id"]
    matches = {row.pk: row for row in Customer.objects.filter(email_key__in=list(keys))}
    taken = source.ids.get_source_ids("customer", matches)
    for pk, match in matches.items():
        targets[keys[match.email_key]] = None if pk in taken else match
    prefetch_related_objects([row for row in targets.values() if row is not None], "addresses")
    return targets


def _create_together(source: Source, objects: Sequence[SourceObject]) -> dict[int, ObjectResult]:
    if not objects:
        return {}
    drafts = [draft_customer(_parse_customer(source, row), at=source.at) for row in objects]
    created = create_from_drafts(drafts, actor=ACTOR, at=source.at)
    return {row["id"]: ObjectResult(Outcome.NEW, customer.pk) for row, customer in zip(objects, created, strict=True)}


def _create(source: Source, row: SourceObject) -> ObjectResult:
    customer = create_customer(_parse_customer(source, row), actor=ACTOR, at=source.at)
    return ObjectResult(Outcome.NEW, customer.pk)


def _update_target(source: Source, row: SourceObject, customer: Customer | None) -> ObjectResult:
    if customer is None:
        return ObjectResult(Outcome.FAILED, problem=_SAME_EMAIL)
    if customer.redacted_at is not None:
        return ObjectResult(Outcome.UNCHANGED, customer.pk, ERASED)
    before = customer.version

    def write() -> ObjectResult:
        attrs = _parse_customer(source, row, customer)
        attrs.pop("created_at", None)
        if "addresses" in attrs:
            _update_with_addresses(source, row, customer, attrs)
        else:
            update_customer(customer, attrs, actor=ACTOR, at=source.at)
        version = Customer.objects.values_list("version", flat=True).get(pk=customer.pk)
        return ObjectResult(Outcome.UNCHANGED if version == before else Outcome.CHANGED, customer.pk)

    result = write_in_savepoint(write)
    return result if result.target_id else ObjectResult(Outcome.FAILED, customer.pk, result.problem)


def _parse_customer(source: Source, row: SourceObject, customer: Customer | None = None) -> Attrs:
    with refuse_malformed("customers", row):
        body = _build_body(source, row, customer)
    with convert_api_errors():
        attrs = validate_body(CustomerSerializer, get_latest_version(), body, instance=customer)
    return attrs | read_creation_time(row, source.at)


def _build_body(source: Source, row: SourceObject, customer: Customer | None) -> Attrs:
    """Return the members of a request body. A null clears the value of an existing customer."""
    clears = _NULLABLE_FIELDS if customer else frozenset()
    body = {name: row[name] for name in _FIELDS if name in row and (row[name] is not None or name in clears)}
    for name, channel in consents.FIELDS.items():
        consent = row.get(name)
        if isinstance(consent, Mapping) and row.get(consents.CHANNEL_DEFINITIONS[channel].contact):
            body[name] = {key: value for key, value in consent.items() if value is not None}
            moment = parse_source_moment(consent.get("consent_updated_at"))
            if moment is not None and moment > source.at:
                # The clock of the other installation is ahead.
                body[name]["consent_updated_at"] = source.at.isoformat()
    if row.get("addresses") is not None:
        body["addresses"] = [
            {name: address[name] for name in ADDRESS_COLUMNS if address.get(name)} for address in _sort_addresses(row)
        ]
    return body


def _sort_addresses(row: SourceObject) -> list[SourceObject]:
    """Return the addresses with the default address first, and the most recently used of the others last."""
    rows = row["addresses"][::-1]
    return sorted(rows, key=lambda address: not address.get("default"))


def _update_with_addresses(source: Source, row: SourceObject, customer: Customer, attrs: Attrs) -> None:
    """Update a customer so that it has the addresses and the default address of the store.

    Equal addresses are kept, and all others are deleted, not only the listed ones that ``update_customer`` replaces.
    """
    unmatched = list(customer.addresses.all())
    before = {address.pk for address in unmatched}
    for index, address in enumerate(_sort_addresses(row)):
        values = [str(address.get(name) or "") for name in _COMPARED]
        match = next((ours for ours in unmatched if _get_values(ours) == values), None)
        if match is not None:
            unmatched.remove(match)
            attrs["addresses"][index] = {"id": match.pk}
    matched_ids = {item["id"] for item in attrs["addresses"] if "id" in item}
    update_customer(customer, attrs, actor=ACTOR, at=source.at)
    rows = {address.pk: address for address in Address.objects.filter(customer=customer)}
    if attrs["addresses"]:
        default_id = attrs["addresses"][0].get("id") or min(rows.keys() - before)
        set_default_address(rows[default_id], actor=ACTOR, at=source.at)
    if unlisted := before & rows.keys() - matched_ids:
        delete_addresses(customer, unlisted, actor=ACTOR, at=source.at)


def _get_values(address: Address) -> list[str]:
    return [str(getattr(address, name) or "") for name in _COMPARED]
