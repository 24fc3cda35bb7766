"""What one row does: a customer made or changed, an order taken in, or the reason why not.

Ids of the file mean nothing here: customers are known by e-mail or phone, variants by SKU, orders by the number or id
that they had elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.api.errors import ApiError
from apps.api.resources.serializers import read_body
from apps.api.versions import newest
from apps.catalog.models import Variant
from apps.customers.api.customers import CustomerSerializer
from apps.customers.domain import consents
from apps.customers.domain.addresses import COLUMNS as ADDRESS_COLUMNS
from apps.customers.domain.contacts import NotAnEmail, NotAPhone, canonical_email, canonical_phone, email_key
from apps.customers.domain.customers import create_customer, update_customer
from apps.customers.domain.validation import CustomerRefused, clean
from apps.customers.models import Customer
from apps.exchange.domain.parsing import RawRow
from apps.exchange.kinds.tables import given_codes
from apps.exchange.models import ImportedRow, Kind
from apps.ground.constraints import breach_of
from apps.ground.dates import NotADate, parse_moment
from apps.ground.errors import DomainError
from apps.ground.tenancy import current_shop
from apps.orders.api.bodies import read_order
from apps.orders.domain import placing, transitions
from apps.orders.models import Order

Fate = ImportedRow.Fate
_CUSTOMER_FIELDS = (
    "first_name",
    "last_name",
    "email",
    "phone",
    "tags",
    "note",
    "tax_exempt",
    "verified_email",
    "tax_exemptions",
    "accepts_marketing",
    "email_marketing_consent",
    "sms_marketing_consent",
    "multipass_identifier",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row."""

    kind: str
    fate: str
    label: str = ""
    reason: str = ""
    source_key: str = ""


def take_in(row: RawRow, *, actor: str, at: datetime) -> Outcome:
    """Do what a row says; a row that cannot be changes nothing, and says why."""
    if row.body is None:
        return Outcome(row.kind, Fate.FAILED, reason=row.problem)
    try:
        with transaction.atomic():
            work = _customer if row.kind == Kind.CUSTOMERS else _order
            return work(row, row.body, actor=actor, at=at)
    except DomainError as refusal:
        return Outcome(row.kind, Fate.FAILED, reason=refusal.sentence)
    except ApiError as refusal:
        return Outcome(row.kind, Fate.FAILED, reason=_written(refusal.errors))
    except IntegrityError as error:
        breach = breach_of(error)
        if breach is None:
            raise
        return Outcome(row.kind, Fate.FAILED, reason=f"{breach.field} {breach.message}")


def _written(errors: Any) -> str:
    if not isinstance(errors, Mapping):
        return str(errors)
    return "; ".join(f"{field} {', '.join([*messages])}" for field, messages in errors.items())


# --- customers -------------------------------------------------------------------------------------------------------


def _customer(row: RawRow, body: Mapping[str, Any], *, actor: str, at: datetime) -> Outcome:
    known = _known_customer(body)
    given = {name: body[name] for name in _CUSTOMER_FIELDS if body.get(name) not in (None, "")}
    if known is None:
        attrs = read_body(CustomerSerializer, newest(), {**given, "addresses": _addresses(body)})
        made = create_customer(attrs, actor=actor, at=at)
        return Outcome(row.kind, Fate.NEW, _label(made))
    attrs = read_body(CustomerSerializer, newest(), given, instance=known)
    cleaned, errors = clean(attrs, customer=known, shop=current_shop(), at=at)
    if errors:
        raise CustomerRefused(errors)
    before = known.version
    changed = {name: value for name, value in cleaned.items() if _differs(known, name, value)}
    if not changed:
        return Outcome(row.kind, Fate.SKIPPED, _label(known), "is known already, and nothing differs")
    after = update_customer(known, changed, actor=actor, at=at)
    return Outcome(row.kind, Fate.CHANGED if after.version != before else Fate.SKIPPED, _label(known))


def _addresses(body: Mapping[str, Any]) -> Any:
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


def _known_customer(body: Mapping[str, Any]) -> Customer | None:
    email, phone = body.get("email"), body.get("phone")
    try:
        if isinstance(email, str) and email:
            found: Customer | None = Customer.objects.filter(email_key=email_key(canonical_email(email))).first()
            if found is not None:
                return found
        if isinstance(phone, str) and phone:
            e164 = canonical_phone(phone, current_shop().country_code)
            by_phone: Customer | None = Customer.objects.filter(phone=e164).first()
            return by_phone
    except (NotAnEmail, NotAPhone):
        # What is wrong is said when the customer is made.
        return None
    return None


def _label(customer: Customer) -> str:
    return customer.event_label


# --- orders ----------------------------------------------------------------------------------------------------------


def _order(row: RawRow, body: Mapping[str, Any], *, actor: str, at: datetime) -> Outcome:
    key = source_key_of(row, body)
    known = ImportedRow.objects.filter(source_key=key, dry=False, fate=Fate.NEW).first()
    if known is not None:
        if Order.objects.filter(name=known.label).exists():
            return Outcome(row.kind, Fate.SKIPPED, known.label, "was imported before")
        # It was deleted since, and may come again.
        ImportedRow.objects.filter(pk=known.pk).update(source_key="")
    cancelled_at = body.get("cancelled_at")
    attrs, parts = read_order(newest(), _translated(body))
    attrs |= {"source_name": "import", "source_identifier": key.removeprefix("order:")[:255]}
    if cancelled_at:
        attrs.pop("closed_at", None)
    order = placing.create_order(attrs, parts, actor=actor, at=at)
    if cancelled_at:
        _cancel(order, body, actor=actor, at=at)
    return Outcome(row.kind, Fate.NEW, order.name, source_key=key)


def source_key_of(row: RawRow, body: Mapping[str, Any]) -> str:
    """By what an order is known again, in the same file or another."""
    for name in ("source_identifier", "id", "name"):
        value = body.get(name)
        if isinstance(value, str | int) and value and not isinstance(value, bool):
            return f"order:{value}"[:300]
    return f"order:{row.digest}"


def _translated(body: Mapping[str, Any]) -> dict[str, Any]:
    """An order of elsewhere as the body of a new one."""
    taken = {name: value for name, value in body.items() if name not in {"metafields", "send_receipt", "fulfillments"}}
    taken["line_items"] = [
        {name: value for name, value in line.items() if name not in {"variant_id", "product_id"}}
        if isinstance(line, dict)
        else line
        for line in _listed(body.get("line_items"))
    ]
    _find_variants(taken["line_items"])
    if isinstance(body.get("discount_codes"), list) and all(isinstance(code, dict) for code in body["discount_codes"]):
        taken["discount_codes"] = given_codes(body)
    if isinstance(body.get("customer"), dict):
        taken["customer"] = {name: value for name, value in body["customer"].items() if name != "id"}
    taken["transactions"] = [
        {name: value for name, value in row.items() if name != "parent_id"} if isinstance(row, dict) else row
        for row in _listed(body.get("transactions"))
    ]
    if taken.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED:
        del taken["fulfillment_status"]
    if body.get("cancelled_at"):
        taken.pop("closed_at", None)
        # Cancelling voids what was authorized.
        taken["transactions"] = [
            row for row in taken["transactions"] if not (isinstance(row, dict) and row.get("kind") == "void")
        ]
    return taken


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _find_variants(lines: list[Any]) -> None:
    """Tie lines to the shop's variants by SKU, where just one has it."""
    wanted = {line["sku"] for line in lines if isinstance(line, dict) and isinstance(line.get("sku"), str)} - {""}
    if not wanted:
        return
    found: dict[str, list[int]] = {}
    rows = Variant.objects.filter(inventory_item__sku__in=wanted).values_list("inventory_item__sku", "pk")
    for sku, pk in rows:
        found.setdefault(sku, []).append(pk)
    for line in lines:
        if isinstance(line, dict) and isinstance(line.get("sku"), str) and len(found.get(line["sku"], ())) == 1:
            line["variant_id"] = found[line["sku"]][0]


def _cancel(order: Order, body: Mapping[str, Any], *, actor: str, at: datetime) -> None:
    reason = body.get("cancel_reason")
    transitions.cancel(
        order,
        actor=actor,
        at=_moment(body["cancelled_at"]) or at,
        reason=reason if reason in Order.CancelReason.values else Order.CancelReason.OTHER,
        restock=body.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED,
    )


def _moment(text: Any) -> datetime | None:
    try:
        moment = parse_moment(str(text), current_shop().tzinfo)
    except NotADate:
        raise placing.OrderRefused({"cancelled_at": ["is invalid"]}) from None
    return min(moment, timezone.now())
