"""Summarize in words what the discount in the form gives, also while the form is not complete."""

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.admin.forms.form_summary import FormSummary
from apps.core.i18n import formats
from apps.core.types import ReadOnlyAttrs
from apps.discounts.admin.descriptions import describe_period, list_terms
from apps.discounts.admin.discount_kinds import TERM_FIELDS
from apps.discounts.admin.forms import DiscountForm
from apps.discounts.models import PriceRule


def summarize_discount(form: DiscountForm) -> FormSummary:
    """Summarize the input, or the stored rule if the form was not sent."""
    if not form.is_bound:
        rule = form.rule
        if rule is None:
            return FormSummary(_("No code yet"), hint=_("Enter the value to see what the discount gives."))
        return FormSummary(rule.title, _list_lines(rule, list_terms(rule)))
    form.is_valid()
    values = {**dict.fromkeys(form.fields), **form.cleaned_data}
    title = values.get("code") or values["title"] or (form.rule.title if form.rule else _("No code yet"))
    rule = _build_rule(form, values)
    if rule is None:
        if any(form.data.get(name) for name in TERM_FIELDS if name in form.errors):
            return FormSummary(title, hint=_("Correct the value to see what the discount gives."))
        return FormSummary(title, hint=_("Enter the value to see what the discount gives."))
    return FormSummary(title, _list_lines(rule, list_terms(rule)))


def _list_lines(rule: PriceRule, terms: list[str]) -> list[str]:
    uses = _("any number of uses")
    if (limit := rule.usage_limit) is not None:
        text = ngettext("{number} use of each code", "{number} uses of each code", limit)
        uses = text.format(number=formats.format_integer(limit))
    return [capfirst(line) for line in (*terms, uses, describe_period(rule.starts_at, rule.ends_at))]


def _build_rule(form: DiscountForm, values: ReadOnlyAttrs) -> PriceRule | None:
    """Return an unsaved rule with the input, or None if a value of its kind is missing or invalid."""
    if not form.has_other_terms and not form.has_complete_terms(values):
        return None
    columns = {column.attname for column in PriceRule._meta.concrete_fields}
    stored = {name: getattr(form.rule, name) for name in columns} if form.rule else {}
    attrs = form.get_attrs(values)
    return PriceRule(**stored | {name: value for name, value in attrs.items() if name in columns})
