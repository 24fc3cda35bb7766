"""The reasons for which a discount code does not apply, and the checks that do not depend on the items."""

from datetime import datetime

from django.db.models import Q

from apps.core.db.case_folding import build_email_key
from apps.core.i18n.messages import Message, define_format, define_message, define_text
from apps.customers.models import Customer
from apps.discounts.domain.terms import CodeTerms
from apps.discounts.models import DiscountUse, PriceRule

UNKNOWN = define_text("discounts.unknown", "The discount code does not exist")
NOT_STARTED = define_text("discounts.not_started", "The discount has not started yet")
EXPIRED = define_text("discounts.expired", "The discount has expired")
USED_UP = define_text("discounts.used_up", "The discount code has been used up")
ALREADY_USED = define_text("discounts.already_used", "The customer has already used this discount")
OTHER_CUSTOMERS = define_text("discounts.other_customers", "The discount is only for selected customers")
NO_ITEMS = define_text("discounts.no_items", "The discount does not apply to these items")
MISSING_ITEMS = define_text("discounts.missing_items", "The items that the discount requires are missing")
NO_SHIPPING = define_text("discounts.no_shipping", "The discount does not apply to this shipping")
OTHER_COUNTRY = define_text("discounts.other_country", "The discount does not apply to shipping to this country")
SUBTOTAL_TOO_LOW = define_message("discounts.subtotal_too_low", "The discount needs a subtotal of at least {amount}")
QUANTITY_TOO_LOW = define_message("discounts.quantity_too_low", "The discount needs at least {count} items")
# A code with the reason, for errors about one of several codes.
CODE_REFUSED = define_format("discounts.code_refused", "{code}: {reason}")
NO_RATE = define_message("discounts.no_rate", "The discount has no amount in {currency}")


def build_use_condition(customer: Customer | None, email: str) -> Q | None:
    """Return the condition for the uses of a customer, or None if the customer is unknown.

    An email address also counts as its customer, because an order with the address gets this customer.
    """
    ids = set() if customer is None else {customer.pk}
    own_keys = {build_email_key(customer.email)} if customer is not None and customer.email else set()
    keys = own_keys | ({build_email_key(email)} if email else set())
    if other_keys := keys - own_keys:
        ids |= set(Customer.objects.filter(email_key__in=other_keys).values_list("pk", flat=True))
    return Q(customer_id__in=ids) | Q(email_key__in=keys) if ids or keys else None


def is_used_by_customer(rule: PriceRule, condition: Q | None, *, other_than: int | None = None) -> bool:
    """Return True if an order, except the order with the id ``other_than``, uses a code of the rule."""
    if condition is None:
        return False
    uses = DiscountUse.objects.filter(condition, code__rule=rule)
    return (uses if other_than is None else uses.exclude(order_id=other_than)).exists()


def find_refusal(terms: CodeTerms, customer: Customer | None, email: str, at: datetime) -> Message | None:
    """Return the reason why the code cannot be used at this time or by this customer."""
    rule = terms.rule
    state = rule.get_state(at)
    if state == PriceRule.State.SCHEDULED:
        return NOT_STARTED
    if state == PriceRule.State.EXPIRED:
        return EXPIRED
    if rule.usage_limit is not None and terms.code.usage_count >= rule.usage_limit:
        return USED_UP
    if rule.customer_selection == PriceRule.CustomerSelection.PREREQUISITE and not _is_selected(terms, customer, email):
        return OTHER_CUSTOMERS
    if rule.once_per_customer and is_used_by_customer(rule, build_use_condition(customer, email)):
        return ALREADY_USED
    return None


def _is_selected(terms: CodeTerms, customer: Customer | None, email: str) -> bool:
    """Return True if the rule selects the customer or, without one, the customer who has the email address."""
    if customer is not None or not email:
        return customer is not None and customer.pk in terms.customer_ids
    return Customer.objects.filter(email_key=build_email_key(email), pk__in=terms.customer_ids).exists()
