"""The state of a rule, with regard to its period and to the uses of its codes."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from apps.discounts.models import DiscountCode, PriceRule

State = PriceRule.State


def build_used_up_condition() -> Q:
    """Return the condition that a rule has codes, and that all of them have reached the usage limit."""
    codes = DiscountCode.objects.filter(rule=OuterRef("pk"))
    usable = codes.filter(usage_count__lt=OuterRef("usage_limit"))
    return Q(Exists(codes), ~Exists(usable), usage_limit__isnull=False)


def build_state_condition(state: str, at: datetime) -> Q:
    """Return the condition for rules in a state. Each rule is in exactly one state."""
    if state == State.SCHEDULED:
        return Q(starts_at__gt=at)
    if state == State.EXPIRED:
        return Q(starts_at__lte=at, ends_at__lte=at)
    used_up = build_used_up_condition()
    in_period = Q(Q(ends_at=None) | Q(ends_at__gt=at), starts_at__lte=at)
    return in_period & (used_up if state == State.USED_UP else ~used_up)


def get_state(rule: PriceRule, at: datetime, *, is_used_up: bool) -> PriceRule.State:
    state = rule.get_state(at)
    return State.USED_UP if state == State.ACTIVE and is_used_up else state
