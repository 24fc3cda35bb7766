"""The pages of a discount that list, add and delete codes, and list the uses of the codes."""

from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.admin.forms.error_display import add_domain_errors, format_field_error
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.lists.paginator import BoundedPaginator
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.jobs.metrics import find_stall
from apps.core.jobs.models import Job
from apps.discounts.admin.changelist import DiscountList
from apps.discounts.admin.code_forms import CodeForm, RandomCodesForm
from apps.discounts.domain import batches, codes
from apps.discounts.domain.discounts import create_random_codes
from apps.discounts.domain.terms import normalize_code
from apps.discounts.domain.usage import count_earlier_uses
from apps.discounts.models import CodeBatch, DiscountUse, PriceRule

VIEW, CHANGE, DELETE = (f"discounts.{verb}_pricerule" for verb in ("view", "change", "delete"))
PER_PAGE = 50
_MAX_REFUSED = 20
M = TypeVar("M", bound=Model)


class CodePages(DiscountList):
    @row_view("codes/", VIEW, CHANGE)
    def codes_view(self, request: HttpRequest, rule: PriceRule) -> HttpResponse:
        term = request.GET.get("q", "").replace("\0", "").strip()
        rows = rule.codes.order_by("-pk")
        if term:
            rows = rows.filter(code_key__startswith=normalize_code(term))
        return self.page(
            request,
            "panel/discounts/codes.html",
            _("Codes of {discount}").format(discount=rule),
            original=rule,
            term=term,
            codes_page=_paginate(request, rows),
            codes=True,
            may_change=has_permission(request, CHANGE),
            **get_batch_context(rule),
        )

    @row_view("codes/add/", CHANGE, keyed=True)
    def add_codes_view(self, request: HttpRequest, rule: PriceRule) -> HttpResponse:
        """Show the forms for one code and for many random codes, and process the one that was submitted."""
        data = get_post_data(request)
        is_single = data is not None and "single" in data
        single = CodeForm(data if is_single else None)
        many = RandomCodesForm(None if is_single else data, initial={"number": 10})
        form = single if is_single else many
        if request.method == "POST" and form.is_valid():
            try:
                text = self._add_code(request, rule, single) if is_single else self._add_codes(request, rule, many)
            except DomainError as error:
                add_domain_errors(form, error)
            else:
                self.message_user(request, text, messages.SUCCESS)
                return HttpResponseRedirect(self.url("codes", rule.pk))
        title = _("Add codes to {discount}").format(discount=rule)
        return self.page(request, "panel/discounts/add_codes.html", title, original=rule, single=single, many=many)

    def _add_code(self, request: HttpRequest, rule: PriceRule, form: CodeForm) -> str:
        code = codes.create_code(rule, form.cleaned_data["code"], **self.event_kwargs(request))
        return _("Code {code} added.").format(code=code)

    def _add_codes(self, request: HttpRequest, rule: PriceRule, form: RandomCodesForm) -> str:
        values = form.cleaned_data
        create_random_codes(rule, values["number"], values["code_prefix"], **self.event_kwargs(request))
        text = ngettext("{number} code is being created.", "{number} codes are being created.", values["number"])
        return text.format(number=formats.format_integer(values["number"]))

    @row_view("codes/<int:code_id>/delete/", CHANGE, keyed=True)
    def delete_code_view(self, request: HttpRequest, rule: PriceRule, code_id: int) -> HttpResponse:
        """Show the confirmation page. On POST, delete the code with its uses."""
        require_permission(request, DELETE)
        code = rule.codes.filter(pk=code_id).first()
        if code is None:
            raise Http404(_("There is no {model} with the ID {id}.").format(model=_("discount code"), id=code_id))
        if request.method == "POST":
            codes.delete_code(code, **self.event_kwargs(request))
            self.message_user(request, _("Code {code} deleted.").format(code=code), messages.SUCCESS)
            return HttpResponseRedirect(self.url("codes", rule.pk))
        title = _("Delete code {code}").format(code=code)
        return self.page(request, "panel/discounts/delete_code.html", title, original=rule, code=code)

    @row_view("uses/", VIEW, CHANGE)
    def uses_view(self, request: HttpRequest, rule: PriceRule) -> HttpResponse:
        page = _paginate(request, get_uses(rule))
        return self.page(
            request,
            "panel/discounts/uses.html",
            _("Uses of {discount}").format(discount=rule),
            original=rule,
            uses_page=page,
            uses=describe_uses(request, page.object_list),
            earlier_uses=count_earlier_uses(rule),
        )


def _paginate(request: HttpRequest, rows: "QuerySet[M]") -> Any:
    return BoundedPaginator(rows, PER_PAGE).get_page(request.GET.get("p"))


def get_uses(rule: PriceRule) -> QuerySet[DiscountUse]:
    rows = DiscountUse.objects.filter(code__rule=rule).select_related("code", "order", "customer")
    return rows.order_by("-pk")


def describe_uses(request: HttpRequest, uses: Any) -> list[Context]:
    """Return the uses for display. Orders and customers are only shown to users who may view them."""
    may_view_orders = has_permission(request, "orders.view_order")
    may_view_customers = has_permission(request, "customers.view_customer")
    return [
        {
            "row": use,
            "order": use.order if may_view_orders else None,
            "customer": use.customer if may_view_customers else None,
            "amount": _format_amount(use),
        }
        for use in uses
    ]


def _format_amount(use: DiscountUse) -> str:
    if use.amount is None or use.order is None:
        return "–"
    return formats.format_money(use.amount, use.order.currency)


def get_batch_context(rule: PriceRule) -> Context:
    """Return the progress of the batches that staff or an app created last, or their refused codes."""
    newest = CodeBatch.objects.filter(rule=rule).order_by("-pk").first()
    if newest is None:
        return {"progress": None, "refused": []}
    rows = list(CodeBatch.objects.filter(rule=rule, created_at=newest.created_at).order_by("pk"))
    unfinished = [row for row in rows if row.status != CodeBatch.Status.COMPLETED]
    if not unfinished:
        refused = [result for row in rows for result in row.results if result["errors"]]
        return {
            "progress": None,
            "refused_count": len(refused),
            "refused": [(result["code"], _format_result(result)) for result in refused[:_MAX_REFUSED]],
        }
    jobs = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING), task=batches.TASK)
    job = jobs.filter(arguments__batch_id=unfinished[0].pk).order_by("pk").first()
    return {
        "progress": {
            "progress_done": sum(row.imported_count + row.failed_count for row in rows),
            "progress_total": sum(row.codes_count for row in rows),
        },
        "waits": find_stall(job),
        "refused": [],
    }


def _format_result(result: Context) -> str:
    return " ".join(format_field_error(name, message) for name, texts in result["errors"].items() for message in texts)
