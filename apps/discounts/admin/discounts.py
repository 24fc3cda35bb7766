"""The panel pages of discounts: the form, the page of a discount, and the actions of the list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.display.acts import DescribedEvent, describe_events
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.form_summary import FormSummary
from apps.core.admin.forms.forms import EditConflict
from apps.core.admin.forms.idempotency import submit_once_or_redirect
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.models import Event
from apps.core.events.timelines import get_latest_events
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.discounts.admin.code_pages import CHANGE, DELETE, VIEW, CodePages, describe_uses, get_batch_context, get_uses
from apps.discounts.admin.descriptions import STATE_KINDS, describe_period, describe_terms
from apps.discounts.admin.form_summary import summarize_discount
from apps.discounts.admin.forms import DiscountForm, get_initial
from apps.discounts.admin.pickers import Picker, build_pickers, search
from apps.discounts.domain import price_rules
from apps.discounts.domain.codes import generate_code
from apps.discounts.domain.discounts import create_discount
from apps.discounts.domain.usage import RuleWithUsage, count_earlier_uses, load_usage
from apps.discounts.models import DiscountCode, PriceRule

ADD = "discounts.add_pricerule"
GENERATE, FIND, SAVE = "generate", "find", "save"
_NOT_SEARCHED = gettext_lazy(
    "Nothing was saved yet, because a search field had text. Select from the matches, then save again."
)
_MAX_CODES, _MAX_USES, _MAX_EVENTS, _MAX_TITLES = 10, 10, 50, 10


class DiscountChanged(DomainError):
    """Raised when the discount was changed in another tab."""

    status = 409


@admin.register(PriceRule)
class DiscountAdmin(CodePages):
    menu = MenuItem("Discounts", "loyalty", 16, gettext_lazy("Discounts"))
    search_terms = pgettext_lazy(
        "search", "discount code, price rule, coupon, promotion, promo code, campaign, sale, free shipping"
    )
    intro = gettext_lazy("Discounts that customers get with a code, and how often the codes were used.")
    empty_text = gettext_lazy("No discounts yet. Add a discount and give its code to your customers.")
    actions = ("end_chosen",)

    # --- the form ---

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, ADD)
        if request.method != "POST":
            pickers = build_pickers(request, {})
            return self._render_form(request, DiscountForm(None, None, pickers), None)
        return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._submit(request, None)))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        require_permission(request, *((CHANGE,) if request.method == "POST" else (VIEW, CHANGE)))
        rule = self.get_row_or_404(request, object_id)
        if request.method != "POST":
            pickers = build_pickers(request, price_rules.get_ids(rule))
            return self._render_form(request, DiscountForm(None, rule, pickers, initial=get_initial(rule)), rule)
        return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._submit(request, rule)))

    def _submit(self, request: HttpRequest, rule: PriceRule | None) -> HttpResponse:
        """Run a step of the form, or save the values. Steps keep all values that were entered."""
        data, step = request.POST, request.POST.get("step", SAVE)
        pickers = build_pickers(request, {}, data)
        form = DiscountForm(data, rule, pickers, initial=get_initial(rule) if rule else None)
        summary = summarize_discount(form)
        if step == SAVE and any(picker.is_open for picker in form.used_pickers.values()):
            self.message_user(request, _NOT_SEARCHED, messages.WARNING)
            step = FIND
        if step != SAVE:
            for picker in pickers.values():
                search(picker, lists_first=picker.name == data.get("open"))
            values: dict[str, Any] = {name: data.get(name) for name in DiscountForm.base_fields if name in data}
            if step == GENERATE:
                values["code"] = generate_code()
                summary = replace(summary, title=values["code"])
            shown = DiscountForm(None, rule, pickers, initial=values)
            return self._render_form(request, shown, rule, step=step, summary=summary)
        if form.is_valid():
            try:
                saved = self._save(request, form, rule)
            except DiscountChanged:
                return self._render_conflict(request, form, cast("PriceRule", rule))
            except DomainError as error:
                form.add_domain_error(error)
                rule = self.get_row_or_404(request, str(rule.pk)) if rule else None
            else:
                self.message_user(request, _("Discount {title} saved.").format(title=saved), messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", saved.pk))
        return self._render_form(request, form, rule)

    @transaction.atomic
    def _save(self, request: HttpRequest, form: DiscountForm, rule: PriceRule | None) -> PriceRule:
        by, attrs = self.event_kwargs(request), form.attrs
        if rule is None:
            return create_discount({"starts_at": by["at"], **attrs}, form.cleaned_data["code"], **by)
        refresh_for_update(rule, no_key=True)
        if rule.version != form.cleaned_data["seen_version"]:
            raise DiscountChanged(_("The discount was changed."))
        stored: Mapping[str, Any] = price_rules.get_ids(rule)
        changed = {
            name: value
            for name, value in attrs.items()
            if value != (stored[name] if name in stored else getattr(rule, name))
        }
        price_rules.update_price_rule(rule, changed, **by)
        return rule

    def _render_conflict(self, request: HttpRequest, form: DiscountForm, rule: PriceRule) -> HttpResponse:
        """Show the input again, and who changed what. Saving again overwrites the other changes."""
        rule = self.get_row_or_404(request, str(rule.pk))
        conflict = EditConflict(rule, rule.version)
        text = _("{who} changed this in the meantime. Your changes are not saved yet.").format(who=conflict.who)
        if conflict.fields:
            text += " " + _("Changed: {fields}.").format(fields=", ".join(conflict.fields))
        form.add_error(None, text + " " + _("Review your input. Saving again overwrites the other changes."))
        data = request.POST.copy()
        data["seen_version"] = str(rule.version)
        form.data = data
        return self._render_form(request, form, rule)

    def _render_form(
        self,
        request: HttpRequest,
        form: DiscountForm,
        rule: PriceRule | None,
        *,
        step: str = "",
        summary: FormSummary | None = None,
    ) -> HttpResponse:
        pickers = form.pickers
        context: Context = {
            "form": form,
            "original": rule,
            "step": step,
            "summary": summary or summarize_discount(form),
            "entitled": _get_shown(pickers, "entitled"),
            "prerequisite": _get_shown(pickers, "prerequisite"),
            "customers": pickers["prerequisite_customer_ids"],
            "may_change": has_permission(request, CHANGE if rule else ADD),
        }
        if rule is not None:
            context |= self._get_rule_context(request, rule)
        return self.page(request, "panel/discounts/form.html", str(rule or _("Add discount")), **context)

    # --- the page of a discount ---

    def _get_rule_context(self, request: HttpRequest, rule: PriceRule) -> Context:
        load_usage([rule])
        row = cast("RuleWithUsage", rule)
        state, label = self.state_label(row)
        uses = list(get_uses(row)[: _MAX_USES + 1])
        return {
            "terms": describe_terms(row),
            "state": (STATE_KINDS[state], label),
            "period": describe_period(row.starts_at, row.ends_at),
            "sums": [
                (_("Uses"), self.uses_label(row)),
                (_("Amount given"), self.amount_given(row)),
            ],
            "codes": list(row.codes.order_by("-pk")[:_MAX_CODES]),
            "codes_count": row.codes_count or 0,
            "uses": describe_uses(request, uses[:_MAX_USES]),
            "has_more_uses": len(uses) > _MAX_USES,
            "earlier_uses": count_earlier_uses(row),
            "can_end": state in {PriceRule.State.ACTIVE, PriceRule.State.USED_UP},
            "may_delete": has_permission(request, DELETE),
            "timeline": _get_timeline(request, row),
            **get_batch_context(row),
        }

    def delete_model(self, request: HttpRequest, obj: PriceRule) -> None:
        price_rules.delete_price_rule(obj, **self.event_kwargs(request))

    @row_view("end/", CHANGE, post_only=True, keyed=True)
    def end_view(self, request: HttpRequest, rule: PriceRule) -> HttpResponse:
        text = _("The discount has ended. To continue it, clear the end or enter a later one.")
        return self.run_action(request, rule, text, price_rules.end_price_rule)

    @admin.action(description=gettext_lazy("End now"), permissions=["change"])
    def end_chosen(self, request: HttpRequest, queryset: QuerySet[PriceRule]) -> None:
        """End the selected discounts. Discounts that cannot end do not affect the others."""
        by = self.event_kwargs(request)
        rules = list(PriceRule.objects.filter(pk__in=list(queryset.values_list("pk", flat=True))).order_by("pk"))
        refused: dict[str, list[str]] = {}
        for rule in rules:
            try:
                price_rules.end_price_rule(rule, **by)
            except DomainError as error:
                refused.setdefault(format_errors(error), []).append(str(rule))
        for reason, titles in refused.items():
            names = ", ".join([*titles[:_MAX_TITLES], *("…" for _title in titles[_MAX_TITLES:][:1])])
            text = _("Not ended: {discounts}. {reason}").format(discounts=names, reason=reason)
            self.message_user(request, text, messages.ERROR)
        if number := len(rules) - sum(map(len, refused.values())):
            text = ngettext("{number} discount has ended.", "{number} discounts have ended.", number)
            self.message_user(request, text.format(number=formats.format_integer(number)), messages.SUCCESS)


def _get_shown(pickers: Mapping[str, Picker], role: str) -> list[Picker]:
    """Return the pickers for items. Variants are only shown if an app has chosen some."""
    names = (f"{role}_{kind}_ids" for kind in ("product", "collection", "variant"))
    return [picker for name in names if (picker := pickers[name]).can_search or picker.chosen]


def _get_timeline(request: HttpRequest, rule: PriceRule) -> list[DescribedEvent]:
    """Return the newest events of the rule and of its newest codes."""
    code_ids = list(rule.codes.order_by("-pk").values_list("pk", flat=True)[:_MAX_EVENTS])
    of_codes = Event.rows().filter(subject_type=DiscountCode._meta.label_lower, subject_id__in=code_ids)
    events = [
        *get_latest_events(rule, _MAX_EVENTS),
        *of_codes.order_by("-id").defer("payload")[:_MAX_EVENTS],
    ]
    events.sort(key=lambda event: event.pk, reverse=True)
    return describe_events(request, events[:_MAX_EVENTS])
