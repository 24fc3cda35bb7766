"""The sales report: daily sales, returning customers and best sellers, as charts, tables and CSV files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Self, TypeAlias

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.display.charts import Axes, Bar, BarPair, build_axes, build_bar_pairs, build_bars
from apps.core.admin.display.report_tables import ReportTable
from apps.core.admin.forms.forms import Values
from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.pages import dashboard
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import ZERO, format_decimal
from apps.core.sanitizing import SafeCsvWriter
from apps.core.tenancy.permissions import allow_custom, grants
from apps.core.tenancy.scope import get_current_shop
from apps.orders.admin.dashboard_cards import get_home_days
from apps.orders.domain import sales_report
from apps.orders.domain.sales_report import DateRange, DayCustomers, DaySales, ProductSales

REPORT = "orders.view_report"
DEFAULT_DAYS = 30
MAX_ROWS, MAX_HOME_ROWS, MAX_RANKED_ROWS = 50, 5, 10
_DATE = forms.DateInput(attrs={"type": "date", "class": "bo-input"}, format="%Y-%m-%d")

grants.add(allow_custom("reports", REPORT, reads=True))
pages.add(
    Page(
        MenuItem("Reports", "payments", 30, gettext_lazy("Sales report")),
        "orders_order_report",
        lambda request: has_permission(request, REPORT),
        pgettext_lazy("search", "revenue, turnover, income, earnings, statistics, analytics, figures"),
    )
)


class SalesReportForm(forms.Form):
    earliest = date(1972, 1, 2)
    no_rows = gettext_lazy("There are no sales in this period. Enter different dates.")

    first = forms.DateField(label=gettext_lazy("Start date"), widget=_DATE, input_formats=["%Y-%m-%d"])
    last = forms.DateField(label=gettext_lazy("End date"), widget=_DATE, input_formats=["%Y-%m-%d"])

    @classmethod
    def from_query(cls, request: HttpRequest, **defaults: object) -> Self:
        today = timezone.localdate()
        defaults = {"first": today - timedelta(days=DEFAULT_DAYS - 1), "last": today, **defaults}
        return cls({name: request.GET.get(name, value) for name, value in defaults.items()})

    def clean(self) -> Values:
        data = super().clean() or self.cleaned_data
        if not self.errors:
            first, last = data["first"], data["last"]
            if first > last:
                self.add_error("last", _("Enter a date on or after the start date."))
            elif message := self.get_length_error((last - first).days):
                self.add_error("last", message)
            elif not self.earliest <= first <= last <= date(9000, 1, 1):
                self.add_error("first", self.no_rows)
        return data

    def get_length_error(self, days: int) -> str:
        if days < sales_report.MAX_DAYS:
            return ""
        return _("Enter a shorter period. A report covers at most one year.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SalesReportTable(ReportTable):
    """A table of the sales report. The page shows ``rows``, which omits days without sales.

    ``header`` and ``lines`` are for the CSV file: untranslated names and rows with ISO dates, including days without
    sales.
    """

    header: Sequence[str]
    lines: Sequence[Sequence[object]]
    note: str
    footer: str = ""
    pairs: Sequence[BarPair] = ()
    axes: Axes | None = None
    legend: Sequence[str] = ()
    bars: Sequence[Bar] = ()

    @property
    def ranking(self) -> list[tuple[Bar, Sequence[object]]]:
        """Return the first bars with their rows."""
        return list(zip(self.bars, self.rows, strict=True))[:MAX_RANKED_ROWS]

    @property
    def is_in_chart(self) -> bool:
        """Return True if the chart has all rows, so that the table can be closed at first."""
        return bool(self.pairs) or len(self.rows) == len(self.ranking)


# The functions that build the tables, keyed by table name.
TableFunctions: TypeAlias = Mapping[str, Callable[[DateRange], SalesReportTable]]


def report_view(request: HttpRequest, base: Context) -> HttpResponse:
    require_permission(request, REPORT)
    form = SalesReportForm.from_query(request)
    context: Context = {"form": form}
    if form.is_valid():
        context |= _tables_context(request, DateRange(**form.cleaned_data), _TABLES)
    return TemplateResponse(request, "panel/orders/report.html", {**base, "title": _("Sales report"), **context})


def home_tables_view(request: HttpRequest) -> HttpResponse:
    """Return the report tables that the home page loads separately, because their queries can be slow."""
    require_permission(request, REPORT)
    form = SalesReportForm.from_query(request)
    if not form.is_valid():
        raise Http404("Invalid dates")
    tables: TableFunctions = {"returning": _returning_table, "products": partial(_products_table, limit=MAX_HOME_ROWS)}
    context = _tables_context(request, DateRange(**form.cleaned_data), tables)
    return TemplateResponse(request, "panel/orders/report_tables.html", context)


def _tables_context(request: HttpRequest, days: DateRange, tables: TableFunctions) -> Context:
    return {
        "tables": [(name, make(days)) for name, make in tables.items()],
        "query": request.GET.urlencode(),
    }


def _home_context(request: HttpRequest) -> Context:
    first = timezone.localdate() - timedelta(days=get_home_days(request) - 1)
    query = f"?first={first.isoformat()}"
    return {
        "address": reverse("admin:orders_order_report_answers") + query,
        "report": reverse("admin:orders_order_report") + query,
    }


def file_view(request: HttpRequest) -> HttpResponse:
    require_permission(request, REPORT)
    form, name = SalesReportForm.from_query(request), request.GET.get("table", "sales")
    if name not in _TABLES or not form.is_valid():
        raise Http404("Unknown report")
    days = DateRange(**form.cleaned_data)
    table = _TABLES[name](days)
    return render_csv(f"{name}-{days.first:%Y-%m-%d}-{days.last:%Y-%m-%d}.csv", table.header, table.lines)


def render_csv(file_name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    add_never_cache_headers(response)
    writer = SafeCsvWriter(response, header)
    for row in rows:
        writer.write(dict(zip(header, row, strict=True)))
    return response


# --- tables ---


def _sales_table(days: DateRange) -> SalesReportTable:
    currency = get_current_shop().currency
    before = days.previous
    sold_by_day = sales_report.get_sales_by_day(DateRange(before.first, days.last))
    pairs = [
        (day, sold_by_day.get(day, DaySales()), sold_by_day.get(then, DaySales()))
        for day, then in zip(days.iter_days(), before.iter_days(), strict=True)
    ]
    now = sum((sold.amount for _, sold, _ in pairs), ZERO)
    then = sum((sold.amount for _, _, sold in pairs), ZERO)
    orders = [sum(sold.orders for sold in side) for side in zip(*((a, b) for _, a, b in pairs), strict=True)]
    other_currencies = sum(sold.other_currencies for _, sold, _ in pairs)

    def values(sold: DaySales, earlier: DaySales, write: Callable[[Decimal, str], str]) -> tuple[object, ...]:
        return sold.orders, write(sold.amount, currency), earlier.orders, write(earlier.amount, currency)

    note = _("{orders}. Previous period ({first} to {last}): {money} from {orders_before}.").format(
        orders=_count_orders(orders[0]),
        first=formats.format_date(before.first, "j M Y"),
        last=formats.format_date(before.last, "j M Y"),
        money=formats.format_money(then, currency),
        orders_before=_count_orders(orders[1]),
    )
    return SalesReportTable(
        title=_("{money}, {change}").format(
            money=formats.format_money(now, currency), change=_describe_change(now, then)
        ),
        columns=(
            _("Day"),
            _("Orders"),
            _("Sales ({currency})").format(currency=currency),
            _("Previous orders"),
            _("Previous sales ({currency})").format(currency=currency),
        ),
        header=("Day", "Orders", f"Money ({currency})", "Orders before", f"Money before ({currency})"),
        rows=[
            (formats.format_date(day, "j M Y"), *values(sold, earlier, formats.format_amount))
            for day, sold, earlier in reversed(pairs)
            if sold.orders or earlier.orders
        ],
        lines=[(day.isoformat(), *values(sold, earlier, format_decimal)) for day, sold, earlier in pairs],
        note=note,
        footer=_("Not included: {orders} in other currencies.").format(orders=_count_orders(other_currencies))
        if other_currencies
        else "",
        pairs=build_bar_pairs(
            [
                (
                    earlier.amount,
                    sold.amount,
                    f"{formats.format_date(day, 'j M')}: {formats.format_amount(sold.amount, currency)}",
                )
                for day, sold, earlier in pairs
            ]
        ),
        axes=build_axes(
            [sold.amount for _day, *sales in pairs for sold in sales],
            lambda value: formats.format_whole_money(value, currency),
            [formats.format_date(day, "j M") for day, *_sales in pairs],
        ),
        legend=(_("this period"), _("previous period")),
    )


def _returning_table(days: DateRange) -> SalesReportTable:
    customers_by_day = sales_report.get_customers_by_day(days)
    rows = [(day, customers_by_day.get(day, DayCustomers())) for day in days.iter_days()]
    total = DayCustomers(
        *(sum(getattr(day_customers, name) for _, day_customers in rows) for name in ("orders", "returning", "first"))
    )

    def values(day_customers: DayCustomers) -> tuple[object, ...]:
        return day_customers.returning, day_customers.first, day_customers.unknown

    known_customers = total.returning + total.first
    note = _("{returning} of {orders} came from returning customers.")
    if known_customers:
        note = _(
            "{returning} of {orders} came from returning customers ({percent}% of the orders with a known customer)."
        )
    return SalesReportTable(
        title=_("{orders} from returning customers").format(orders=_count_orders(total.returning)),
        columns=(_("Day"), _("Returning customers"), _("First orders"), _("Unknown customers")),
        header=("Day", "Returning customers", "First orders", "Unknown customers"),
        rows=[
            (formats.format_date(day, "j M Y"), *values(day_customers))
            for day, day_customers in reversed(rows)
            if day_customers.orders
        ],
        lines=[(day.isoformat(), *values(day_customers)) for day, day_customers in rows],
        note=note.format(
            orders=_count_orders(total.orders),
            returning=total.returning,
            percent=round(100 * total.returning / known_customers) if known_customers else 0,
        ),
        pairs=build_bar_pairs(
            [
                (
                    Decimal(day_customers.orders),
                    Decimal(day_customers.returning),
                    _("{day}: {returning} of {orders} from returning customers").format(
                        day=formats.format_date(day, "j M"),
                        returning=day_customers.returning,
                        orders=day_customers.orders,
                    ),
                )
                for day, day_customers in rows
            ]
        ),
        axes=build_axes(
            [Decimal(day_customers.orders) for _day, day_customers in rows],
            formats.format_integer,
            [formats.format_date(day, "j M") for day, _customers in rows],
        ),
        legend=(_("from returning customers"), _("all orders")),
    )


def _products_table(days: DateRange, limit: int = MAX_ROWS) -> SalesReportTable:
    currency = get_current_shop().currency
    best_sellers = sales_report.get_best_sellers(days)

    def lines(sellers: Iterable[ProductSales], write: Callable[[Decimal, str], str]) -> list[tuple[object, ...]]:
        return [(seller.name, seller.orders, seller.quantity, write(seller.amount, currency)) for seller in sellers]

    visible = best_sellers[:limit]
    return SalesReportTable(
        title=_("Best sellers"),
        columns=(_("Product"), _("Orders"), _("Items sold"), _("Sales ({currency})").format(currency=currency)),
        header=("Product", "Orders", "Units", f"Money ({currency})"),
        rows=lines(visible, formats.format_amount),
        lines=lines(best_sellers, format_decimal),
        note=_("Sales after discounts, including tax, excluding shipping and duties."),
        bars=build_bars(
            [(seller.amount, f"{seller.name}: {formats.format_amount(seller.amount, currency)}") for seller in visible]
        ),
        more=len(best_sellers) - len(visible),
    )


_TABLES: TableFunctions = {"sales": _sales_table, "returning": _returning_table, "products": _products_table}


def _count_orders(count: int) -> str:
    return ngettext("{count} order", "{count} orders", count).format(count=formats.format_integer(count))


def _describe_change(now: Decimal, then: Decimal) -> str:
    if now == then:
        return _("same as in the previous period")
    if not then:
        return _("no sales in the previous period")
    percent = abs(round(100 * (now - then) / then))
    more, less = _("{percent}% more than in the previous period"), _("{percent}% less than in the previous period")
    return (more if now > then else less).format(percent=formats.format_integer(percent))


dashboard.sections.add(dashboard.Section("panel/orders/home_tables.html", REPORT, _home_context))
