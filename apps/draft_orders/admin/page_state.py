"""The state of the page that creates an order: the entered values, the steps that change them, and the totals.

Each step is a button that sends the whole form, and the server answers with the new form. ``draft_order.js`` sends the
steps in the background and replaces the changed parts of the page, so the page works in the same way without scripts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet
from django.forms import BoundField
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from apps.catalog.models import Variant
from apps.core.admin.forms.error_display import as_sentence, format_field_error
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.customers.admin.changelist_search import build_search_condition, get_first_matches
from apps.customers.domain.lookup import get_contact_keys, match_email, match_phone
from apps.customers.models import Customer
from apps.draft_orders.admin.forms import CONTACT_FIELDS, DraftForm, LineForm, get_address_data, to_form_data
from apps.draft_orders.domain.inputs import get_default_address
from apps.draft_orders.domain.preview import preview_draft_order
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.inventory.domain.item_lookup import MAX_CODE_LENGTH, MAX_FOUND, find_items

_LINE = re.compile(r"line-([0-9]{1,4})-(?:variant|title|quantity)", re.ASCII)
_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
# A number with up to this many digits is the quantity of the last line, unless it is the SKU or barcode of an item.
_SHORT_NUMBER = re.compile(r"(\+?)([0-9]{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class FoundVariant:
    """A search result, with a price and the quantity in stock if the variant's stock is tracked."""

    variant: Variant
    price: str
    stock: int | None


class PageState:
    """The values of the form, and what the last step found.

    Attributes:
        code, term: The texts in the search fields for products and customers.
        focus: The field that gets the focus, such as ``code`` or ``line-3-title``.
        message: What the step has changed, for screen readers.
        code_error, term_error: Why a search did not lead to a result.
    """

    def __init__(self, data: QueryDict, draft: DraftOrder | None, *, is_saving: bool = False) -> None:
        self.data = data.copy()
        self.draft, self.is_saving = draft, is_saving
        self.code, self.term = _clean_text(data, "code"), _clean_text(data, "term")
        self.message = self.code_error = self.term_error = ""
        self.focus = "code"
        self.found_variants: list[Variant] = []
        self.found_customers: list[Customer] = []
        self.errors: list[str] = []
        self.preview: tuple[DraftOrder, Sequence[DraftOrderLine]] | None = None

    # --- steps ---

    def run_step(self) -> None:
        """Run the step that changes the form's values. Steps that only calculate or save change nothing."""
        add, remove, choose = (str(self.data.get(name, "")) for name in ("add", "remove", "choose"))
        if _ID.fullmatch(add):
            for variant in self._get_variants([int(add)]).values():
                self._add(variant)
        elif remove.isdecimal():
            self._remove(remove)
        elif _ID.fullmatch(choose):
            for customer in Customer.objects.filter(pk=int(choose)).select_related("default_address"):
                self._choose(customer)
        elif "custom" in self.data:
            self.focus = self._append({"quantity": "1", "taxable": "on", "requires_shipping": "on"}) + "-title"
        elif "unchoose" in self.data:
            self._forget_customer()
        else:
            self._search(str(self.data.get("step", "")))

    def _search(self, step: str) -> None:
        if step == "suggest":
            self._suggest()
        elif step == "find" and self.code:
            self._enter(self.code)
        elif step in {"find", "find_customer"} and self.term:
            self._enter_customer(self.term)

    def _suggest(self) -> None:
        if len(self.code) > 1:
            self.found_variants = _find_variants(self.code)[0]
        if len(self.term) > 1:
            self.found_customers = _find_customers(self.term)

    def _enter(self, code: str) -> None:
        """Add the product with this code, or change the quantity of the line that was added last."""
        number = _SHORT_NUMBER.fullmatch(code)
        last = self.data.get("last", "")
        has_last = f"line-{last}-quantity" in self.data
        if number and has_last and number[1]:
            self._set_quantity(last, self._get_quantity(last) + int(number[2]))
            return
        variants, has_code = _find_variants(code)
        # An unknown barcode must not add the product with a longer number.
        if len(variants) == 1 and (has_code or not code.isdecimal()):
            self._add(variants[0])
        elif number and has_last and not has_code:
            self._set_quantity(last, int(number[2]))
        else:
            self.found_variants = variants
            text = _("“{code}” matches several products. Choose one.")
            if not variants:
                text = _("No product matches “{code}”.")
            if len(variants) == 1:
                text = _("No product has the SKU or barcode “{code}”.")
            self.code_error = text.format(code=code)

    def _add(self, variant: Variant) -> None:
        self.code = ""
        for number in self.line_numbers:
            if self.data.get(f"line-{number}-variant") == str(variant.pk):
                self._set_quantity(str(number), self._get_quantity(str(number)) + 1)
                return
        self._append({"variant": str(variant.pk), "name": variant.full_name, "quantity": "1"})
        self.message = _("{name}: {quantity}").format(name=variant.full_name, quantity=1)

    def _append(self, values: Mapping[str, str]) -> str:
        number = max(self.line_numbers, default=-1) + 1
        for name, value in values.items():
            self.data[f"line-{number}-{name}"] = value
        self.data["last"] = str(number)
        return f"line-{number}"

    def _get_quantity(self, number: str) -> int:
        text = self.data.get(f"line-{number}-quantity", "").strip()
        return int(text) if text.isdecimal() and len(text) <= 7 else 0

    def _set_quantity(self, number: str, quantity: int) -> None:
        self.data[f"line-{number}-quantity"], self.data["last"] = str(quantity), number
        self.code, name = "", self._build_line(int(number)).display_name
        self.message = _("{name}: {quantity}").format(name=name, quantity=quantity)

    def _remove(self, number: str) -> None:
        self.message = _("{name} removed.").format(name=self._build_line(int(number[:4])).display_name)
        for name in [name for name in self.data if name.startswith(f"line-{number}-")]:
            del self.data[name]

    def _enter_customer(self, term: str) -> None:
        found = _find_customers(term)
        if len(found) == 1:
            self._choose(found[0])
            return
        self.focus, self.found_customers = "term", found
        text = _("No customer matches “{term}”. Enter the contact details of a new customer.")
        if found:
            text = _("“{term}” matches several customers. Choose one.")
        self.term_error = text.format(term=term)

    def _choose(self, customer: Customer) -> None:
        """Choose a customer with the default address. The name and phone fields are for new customers only."""
        self._forget_customer()
        self.data["customer"], self.data["email"] = str(customer.pk), customer.email
        for name, value in get_address_data("shipping", get_default_address(customer) or {}).items():
            self.data[name] = value
        self.data["billing_same"] = "on"
        self.term, self.focus = "", "shipping_title"
        self.message = _("Customer: {name}").format(name=customer)

    def _forget_customer(self) -> None:
        """Clear the contact details and addresses too, so that they are not mixed with those of another customer."""
        names = [name for name in self.data if name.startswith(("shipping_", "billing_"))]
        kept = {"shipping_title", "shipping_price"}
        for name in ["customer", "email", *CONTACT_FIELDS, *names]:
            if name in self.data and name not in kept:
                del self.data[name]
        self.data["billing_same"] = "on"
        self.data["shipping_country_code"] = self.data["billing_country_code"] = get_current_shop().country_code
        self.focus = "term"

    # --- values ---

    @property
    def line_numbers(self) -> list[int]:
        return sorted({int(match[1]) for name in self.data if (match := _LINE.fullmatch(name))})

    def _get_variants(self, ids: Sequence[int]) -> dict[int, Variant]:
        return {row.pk: row for row in Variant.objects.filter(pk__in=ids).select_related("product", "inventory_item")}

    def _build_line(self, number: int) -> LineForm:
        pk = self.data.get(f"line-{number}-variant", "")
        variants = self._get_variants([int(pk)]) if _ID.fullmatch(pk) else {}
        return LineForm(self.data, number, variants=variants)

    @cached_property
    def form(self) -> DraftForm:
        return DraftForm(self.data, is_saving=self.is_saving, focus=self.focus)

    @cached_property
    def lines(self) -> list[LineForm]:
        texts = [self.data.get(f"line-{number}-variant", "") for number in self.line_numbers]
        variants = self._get_variants([int(text) for text in texts if _ID.fullmatch(text)])
        return [
            LineForm(self.data, number, variants=variants, is_saving=self.is_saving, focus=self.focus)
            for number in self.line_numbers
        ]

    @cached_property
    def customer(self) -> Customer | None:
        pk = self.data.get("customer", "")
        return Customer.objects.filter(pk=int(pk)).first() if _ID.fullmatch(pk) else None

    @property
    def found_variant_rows(self) -> list[FoundVariant]:
        return [
            FoundVariant(
                row,
                formats.format_money(row.price, get_current_shop().currency),
                row.inventory_quantity if row.inventory_item.tracked else None,
            )
            for row in self.found_variants
        ]

    @property
    def addresses(self) -> list[tuple[str, str, list[BoundField]]]:
        titles = {"shipping": _("Shipping address"), "billing": _("Billing address")}
        return [(kind, title, self.form.get_address_fields(kind)) for kind, title in titles.items()]

    @property
    def opened_addresses(self) -> list[str]:
        """Return the kinds of the addresses with errors, and of a billing address that is entered separately."""
        is_separate = "billing_same" not in self.data
        return [
            kind
            for kind, _title, fields in self.addresses
            if any(field.errors for field in fields) or (kind == "billing" and is_separate)
        ]

    @property
    def has_errors(self) -> bool:
        return bool(self.errors or self.form.errors or any(line.errors for line in self.lines))

    @property
    def is_valid(self) -> bool:
        if "customer" in self.data and self.data["customer"] and self.customer is None:
            self.errors.append(_("The customer was deleted. Choose another customer."))
            del self.data["customer"]
        if not self.lines:
            self.errors.append(_("Add at least one item."))
        # Evaluate all forms, so that all errors are shown.
        return all([self.form.is_valid(), *(line.is_valid() for line in self.lines), not self.errors])

    def get_line_values(self, lines: Sequence[LineForm]) -> list[Attrs]:
        """Return lines in the format of the service. A line that was removed in another tab is added as a new one."""
        stored = set(self.draft.line_items.values_list("pk", flat=True)) if self.draft else set()
        return [
            {name: value for name, value in line.values.items() if name != "id" or value in stored} for line in lines
        ]

    # --- results ---

    def calculate(self, *, at: datetime) -> None:
        """Calculate the totals of the complete lines. Errors are added to their fields."""
        is_valid, lines = self.form.is_valid(), [line for line in self.lines if line.is_complete]
        if not is_valid or not lines:
            return
        try:
            self.preview = preview_draft_order(self.draft, self.form.values, self.get_line_values(lines), at=at)
        except DomainError as error:
            self.add_error(error, lines)
        else:
            for line, row in zip(lines, self.preview[1], strict=True):
                line.row = row

    def add_error(self, error: DomainError, lines: Sequence[LineForm]) -> None:
        """Add the errors of a service to the fields of the form and of ``lines``, or to the page."""
        for path, messages in error.errors.items():
            form, field = self._find_field(path, lines)
            for message in messages:
                if form is None:
                    self.errors.append(format_field_error(path.rpartition(".")[2], message))
                else:
                    form.add_error(field, as_sentence(message) if field else format_field_error(path, message))

    def _find_field(self, path: str, lines: Sequence[LineForm]) -> tuple[DraftForm | LineForm | None, str | None]:
        part, _dot, rest = path.partition(".")
        if part == "line_items" and rest:
            index, _dot, name = rest.partition(".")
            if index.isdecimal() and int(index) < len(lines):
                field = {"applied_discount": "discount", "variant_id": None}.get(name.partition(".")[0], name)
                return lines[int(index)], field if field in lines[int(index)].fields else None
        names = {"shipping_line": f"shipping_{rest}", "applied_discount": "discount", "customer": rest}
        field = names.get(part, part)
        return (self.form, field) if field in self.form.fields else (None, None)


def _find_variants(code: str) -> tuple[list[Variant], bool]:
    """Return the variants that match a code or term, and True if it is their SKU or barcode."""
    result = find_items(code)
    rows = Variant.objects.filter(inventory_item__in=result.items).select_related("product", "inventory_item")
    by_item = {row.inventory_item_id: row for row in rows}
    return [by_item[item.pk] for item in result.items if item.pk in by_item], result.has_code


def _find_customers(term: str) -> list[Customer]:
    rows: QuerySet[Customer] = Customer.objects.select_related("default_address")
    key, number = get_contact_keys(email=term if "@" in term else None, phone=None if "@" in term else term)
    exact = [match_email(key)] if key else [match_phone(number)] if number else []
    if exact and (customer := rows.filter(*exact).first()):
        return [customer]
    matching = Customer.rows().filter(build_search_condition(term, get_current_shop()))
    keys = get_first_matches(matching.order_by(), MAX_FOUND).values_list("pk", flat=True)
    return list(rows.filter(pk__in=list(keys)).order_by("last_name", "first_name", "pk"))


def _clean_text(data: QueryDict, name: str) -> str:
    return str(data.get(name, "")).replace("\0", "").strip()[:MAX_CODE_LENGTH]


def get_empty_data() -> QueryDict:
    country = get_current_shop().country_code
    return to_form_data({"billing_same": True, "shipping_country_code": country, "billing_country_code": country})


def describe_totals(draft: DraftOrder) -> list[tuple[str, str]]:
    """Return the totals with labels. Optional rows with a zero amount are omitted."""
    rows: list[tuple[str, Decimal, bool]] = [
        (_("Subtotal"), draft.total_line_items_price, True),
        (_("Discounts"), -draft.total_discounts, False),
        (_("Shipping"), draft.total_shipping_price, draft.shipping_line is not None),
        (_("Tax (included)") if draft.taxes_included else _("Tax"), draft.total_tax, True),
    ]
    return [(label, format_amount(draft, amount)) for label, amount, is_shown in rows if is_shown or amount]


def format_amount(draft: DraftOrder, amount: Decimal) -> str:
    return formats.format_money(amount, draft.currency)
