"""The state of the page that creates an order: the entered values, the steps that change them, and the totals.

Each step is a button that sends the whole form, and the server answers with the new form. ``draft_order.js`` sends the
steps in the background and replaces the changed parts of the page, so the page works in the same way without scripts.
"""

from collections.abc import Container, Sequence
from datetime import datetime

from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from apps.core.admin.forms.error_display import as_sentence, explain_field_errors, format_field_error
from apps.core.exceptions import DomainError
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.models import Customer
from apps.discounts.domain.terms import split_codes
from apps.draft_orders.admin.order_form.base import Steps, parse_form_id
from apps.draft_orders.admin.order_form.customer import CustomerSteps
from apps.draft_orders.admin.order_form.form import DraftForm
from apps.draft_orders.admin.order_form.items import ItemSteps, LineForm
from apps.draft_orders.admin.order_form.stored_form import StoredForm, normalize_text
from apps.draft_orders.domain.edits import get_lines, preview_draft_order
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.domain.create.customers import find_order_customer
from apps.orders.models import Order


class PageState:
    """The values of the form, and what the last step found. ``current`` are the steps of the part that gets the focus.

    A step that only calculates or saves changes no values.
    """

    def __init__(
        self, data: QueryDict, draft: DraftOrder | None, *, may_view_customers: bool, is_saving: bool = False
    ) -> None:
        self.data = data.copy()
        self.draft, self.is_saving = draft, is_saving
        self.items = ItemSteps(self.data)
        self.customers = CustomerSteps(self.data, may_view=may_view_customers)
        self.current: Steps = self.items
        self.errors: list[str] = []
        self.preview: tuple[DraftOrder, Sequence[DraftOrderLine]] | None = None

    # --- steps ---

    def run_step(self) -> None:
        """Run the step that changes the form's values."""
        add, remove, choose = (str(self.data.get(name, "")) for name in ("add", "remove", "choose"))
        if variant_id := parse_form_id(add):
            self.items.add(variant_id)
        elif remove.isdecimal():
            self.items.remove(remove)
        elif customer_id := parse_form_id(choose):
            self.current = self.customers
            self.customers.choose(customer_id)
        elif "custom" in self.data:
            self.items.add_custom()
        elif "unchoose" in self.data:
            self.current = self.customers
            self.customers.clear()
        else:
            self._search(self.data.get("step", ""))

    def _search(self, step: object) -> None:
        if step == "suggest":
            self.items.suggest()
            self.customers.suggest()
        elif step == "find" and self.items.term:
            self.items.enter()
        elif step in {"find", "find_customer"} and self.customers.term:
            self.current = self.customers
            self.customers.enter()

    # --- values ---

    @cached_property
    def form(self) -> DraftForm:
        return DraftForm(self.data, is_saving=self.is_saving, focus=self.current.focus)

    @cached_property
    def lines(self) -> list[LineForm]:
        return self.items.build_lines(is_saving=self.is_saving)

    @property
    def has_errors(self) -> bool:
        return bool(self.errors or self.form.errors or any(line.errors for line in self.lines))

    @property
    def is_valid(self) -> bool:
        if self.data.get("customer") and self.customers.customer is None:
            self.errors.append(_("The customer was deleted. Choose another customer."))
            del self.data["customer"]
        if not self.lines:
            self.errors.append(_("Add at least one item."))
        # Evaluate all forms, so that all errors are shown.
        return all([self.form.is_valid(), *(line.is_valid() for line in self.lines), not self.errors])

    @property
    def values(self) -> Attrs:
        """Return the values without the lines in the format of the service: all, or those to change in ``draft``."""
        values = self.form.values
        values["discount_codes"] = split_codes(
            values["discount_codes"], self.draft.discount_codes if self.draft else ()
        )
        if self.draft:
            _keep_hidden_value(values["applied_discount"], self.draft.applied_discount, "description")
            _keep_hidden_value(values["shipping_line"], self.draft.shipping_line, "handle")
        return {name: value for name, value in values.items() if name in self._changed_values}

    @cached_property
    def _stored_form(self) -> StoredForm | None:
        return StoredForm(self.draft, list(self._stored_lines.values())) if self.draft else None

    @property
    def _changed_values(self) -> Container[str]:
        return self._stored_form.find_changed_values(self.data) if self._stored_form else self.form.values

    @property
    def _has_new_lines(self) -> bool:
        return not (self._stored_form and self._stored_form.has_lines(self.data, [line.number for line in self.lines]))

    @property
    def new_customer(self) -> Attrs | None:
        """Return the contact details for which saving finds or creates a customer, or None.

        A stored draft order with only an email address is not calculated again just because a customer has the address.
        The completed order gets this customer.
        """
        form = self._stored_form
        if form and not self._has_new_lines and form.find_changed_values(self.data) <= {"note", "tags"}:
            return None
        return self.form.new_customer

    def build_contact_order(self) -> Order:
        """Return an unsaved order with the contact details and addresses, for ``get_or_create_customer``."""
        names = ("email", "shipping_address", "billing_address")
        return Order(shop=get_current_shop(), **{name: self.form.cleaned_data[name] for name in names})

    def _find_customer(self) -> Customer | None:
        """Return the customer whom saving would set, or None for a new customer."""
        if contact := self.new_customer:
            return find_order_customer(self.build_contact_order(), contact)
        return self.customers.customer

    @cached_property
    def _stored_lines(self) -> dict[int, DraftOrderLine]:
        return {line.pk: line for line in get_lines(self.draft)} if self.draft else {}

    def get_line_values(self, lines: Sequence[LineForm]) -> list[Attrs] | None:
        """Return lines in the format of the service, or None if all lines are as they are stored."""
        return [self._get_line_values(line) for line in lines] if self._has_new_lines else None

    def _get_line_values(self, line: LineForm) -> Attrs:
        """Return a line. A line that was removed in another tab is added as a new one."""
        row = line.values
        stored = self._stored_lines.get(row.get("id", 0))
        if stored is None:
            return {name: value for name, value in row.items() if name != "id"}
        if self._stored_form and self._stored_form.has_line(self.data, line.number):
            return {"id": stored.pk}
        _keep_hidden_value(row["applied_discount"], stored.applied_discount, "description")
        return row

    # --- results ---

    def calculate(self, *, at: datetime) -> None:
        """Calculate the totals of the complete lines. Errors are added to their fields."""
        is_valid, lines = self.form.is_valid(), [line for line in self.lines if line.is_complete]
        if not is_valid or not lines:
            return
        try:
            values, customer = self.values, self._find_customer()
            if "customer_id" in values or self.new_customer:
                values["customer_id"] = customer.pk if customer else None
            has_new_customer = customer is None and self.new_customer is not None
            self.preview = preview_draft_order(
                self.draft, values, self.get_line_values(lines), at=at, has_new_customer=has_new_customer
            )
        except DomainError as error:
            self.add_error(error, lines)
        else:
            # Lines that are as they are stored are all in the preview, even if the form finds one of them invalid.
            for line, row in zip(lines if self._has_new_lines else self.lines, self.preview[1], strict=True):
                line.row = row

    def add_error(self, error: DomainError, lines: Sequence[LineForm]) -> None:
        """Add the errors of a service to the fields of the form and of ``lines``, or to the page."""
        for path, messages in error.errors.items():
            form, field = self._find_field(path, lines)
            for message in explain_field_errors(field, messages):
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


def _keep_hidden_value(new: Attrs | None, stored: ReadOnlyAttrs | None, name: str) -> None:
    """Keep a value of a discount or shipping line that the form does not show, unless the title was changed."""
    if new and stored and new["title"] == normalize_text(stored["title"]):
        new[name] = stored[name]
