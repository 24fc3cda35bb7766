"""The base of reports that group by period: a page with tables, and a CSV file of each table."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import ClassVar

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.permissions import require_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.tenancy.permissions import allow_custom, grants
from apps.core.tenancy.scope import get_current_shop
from apps.orders.admin.reports import SalesReportForm, render_csv
from apps.refunds.domain import refund_report
from apps.refunds.domain.refund_report import RefundReportRange

REPORT = "refunds.view_report"

grants.add(allow_custom("reports", REPORT, reads=True))


class RefundReportForm(SalesReportForm):
    earliest = date(1970, 1, 2)
    no_rows = gettext_lazy("There are no refunds in this period. Enter different dates.")

    step = forms.ChoiceField(
        label=gettext_lazy("Group by"),
        choices=[("day", gettext_lazy("Day")), ("week", gettext_lazy("Week")), ("month", gettext_lazy("Month"))],
        widget=forms.Select(attrs={"class": "bo-input"}),
    )

    def get_length_error(self, days: int) -> str:
        step = self.cleaned_data["step"]
        if days < refund_report.MAX_DAYS[step]:
            return ""
        if step == "day":
            return _("Enter a shorter period. A report by day covers at most one year.")
        return _("Enter a shorter period. A report covers at most five years.")


class ReportPage(ABC):
    """A report with several tables. Subclasses define the summary, the tables and the rows of the files.

    Attributes:
        step: The default period of a row: a day, a week or a month.
        file_view: The name of the URL of the CSV files. ``file_prefix`` begins the name of each file.
        tables: The names of the tables. ``default_table`` is exported if no table is named.
        no_rows: The text in place of an empty table.
    """

    form: ClassVar[type[RefundReportForm]] = RefundReportForm
    step: ClassVar[str]
    title: ClassVar[Promise]
    template: ClassVar[str]
    file_view: ClassVar[str]
    file_prefix: ClassVar[str]
    tables: ClassVar[Collection[str]]
    default_table: ClassVar[str]
    no_rows: ClassVar[Promise]

    @abstractmethod
    def build_context(self, span: RefundReportRange, currency: str) -> Context:
        """Return the context of the summary, and the list of ``tables``."""

    @abstractmethod
    def build_file(
        self, name: str, span: RefundReportRange, currency: str
    ) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """Return the header and the rows of a table's CSV file, which are not translated."""

    def render_page(self, request: HttpRequest, base: Context) -> HttpResponse:
        """Return the report page. ``base`` is the template context shared by all admin pages."""
        require_permission(request, REPORT)
        form = self.form.from_query(request, step=self.step)
        context: Context = {"form": form}
        if form.is_valid():
            currency = get_current_shop().currency
            context |= self.build_context(RefundReportRange(**form.cleaned_data), currency)
            context |= {
                "currency": currency,
                "file_address": reverse(self.file_view),
                "no_rows": self.no_rows,
                "query": request.GET.urlencode(),
            }
        return TemplateResponse(request, self.template, {**base, "title": self.title, **context})

    def render_file(self, request: HttpRequest) -> HttpResponse:
        """Return the table that the query parameter ``table`` selects, as CSV."""
        require_permission(request, REPORT)
        form = self.form.from_query(request, step=self.step)
        name = request.GET.get("table", self.default_table)
        if name not in self.tables or not form.is_valid():
            raise Http404("Unknown report")
        span = RefundReportRange(**form.cleaned_data)
        header, rows = self.build_file(name, span, get_current_shop().currency)
        return render_csv(f"{self.file_prefix}-{name}-{span.first:%Y-%m-%d}-{span.last:%Y-%m-%d}.csv", header, rows)


def format_period(first: date, span: RefundReportRange) -> str:
    """Return the name of a period that begins with the given day."""
    if span.step == "month":
        return date_format(first, "F Y")
    day = formats.format_date(first, "j M Y")
    return _("Week of {day}").format(day=day) if span.step == "week" else day
