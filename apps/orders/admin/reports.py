"""The report of sales: against the days before, returning customers, best sellers; as charts, tables and files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import TypeAlias

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.ground import languages
from apps.ground.cells import Writer
from apps.ground.money import ZERO, text_of
from apps.ground.tenancy import current_shop
from apps.orders.admin.sales import days_at_home
from apps.orders.domain import reporting
from apps.orders.domain.reporting import Buyers, Days, Seller, Sold
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.charts import Bar, Pair, bars_of, pairs_of
from apps.panel.menu import Menu, add_page
from apps.panel.requests import Context
from apps.panel.screens.forms import Values
from apps.panel.tables import ReportTable
from apps.staff.domain.permissions import grant_custom

REPORT = "orders.view_report"
DEFAULT_DAYS = 30
MOST_SHOWN, MOST_AT_HOME = 50, 5
_DATE = forms.DateInput(attrs={"type": "date", "class": "bo-input"}, format="%Y-%m-%d")

grant_custom("reports", REPORT, reads=True)
add_page(
    Menu(
        "Sales",
        "payments",
        12,
        gettext_lazy("Sales report"),
        words=pgettext_lazy(
            "search", "revenue, turnover, income, earnings, statistics, analytics, figures, tax report, vat report"
        ),
    ),
    "orders_order_report",
    lambda request: may(request, REPORT),
)


class DaysForm(forms.Form):
    """Which days."""

    first = forms.DateField(label=pgettext_lazy("days", "From"), widget=_DATE, input_formats=["%Y-%m-%d"])
    last = forms.DateField(label=pgettext_lazy("days", "Until"), widget=_DATE, input_formats=["%Y-%m-%d"])

    def clean(self) -> Values:
        """The days are in their order, and not too many."""
        data = super().clean() or self.cleaned_data
        first, last = data.get("first"), data.get("last")
        if first and last:
            if first > last:
                self.add_error("last", _("This is before the first day."))
            elif (last - first).days >= reporting.MOST_DAYS:
                self.add_error("last", _("A report reaches over a year at the most."))
            elif not date(1972, 1, 2) <= first <= last <= date(9000, 1, 1):
                self.add_error("first", _("There were no sales then."))
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(ReportTable):
    """A table of the report, as its page and its file have it; days without anything are left out of its rows.

    Attributes:
        header: The columns in the file, whose words are those of programs and never translated.
        lines: All rows, for the file, with days as 2026-03-02.
        note: What it says below the heading.
        footer: What it says at its end.
    """

    header: Sequence[str]
    lines: Sequence[Sequence[object]]
    note: str
    footer: str = ""
    pairs: Sequence[Pair] = ()
    legend: Sequence[str] = ()
    bars: Sequence[Bar] = ()


# The tables of a page by their names, each made of the days.
Tables: TypeAlias = Mapping[str, Callable[[Days], Table]]


def report_view(request: HttpRequest, base: Context) -> HttpResponse:
    """The page; ``base`` is what each page of the screen shows."""
    require(request, REPORT)
    form = _form(request)
    context: Context = {"form": form}
    if form.is_valid():
        context |= _shown(request, Days(**form.cleaned_data), _TABLES)
    return TemplateResponse(request, "panel/orders/report.html", {**base, "title": _("Sales report"), **context})


def answers_view(request: HttpRequest) -> HttpResponse:
    """What the home page shows besides the sales, a part of a page; it may take longer than the rest of that page.

    Raises:
        Http404: There are no such days.
    """
    require(request, REPORT)
    form = _form(request)
    if not form.is_valid():
        raise Http404("There are no such days")
    tables: Tables = {"returning": _returning, "products": partial(_products, most=MOST_AT_HOME)}
    context = _shown(request, Days(**form.cleaned_data), tables)
    return TemplateResponse(request, "panel/orders/report_tables.html", context)


def _shown(request: HttpRequest, days: Days, tables: Tables) -> Context:
    return {
        "tables": [(name, make(days)) for name, make in tables.items()],
        "ends": (languages.dated(days.first, "j M Y"), languages.dated(days.last, "j M Y")),
        "query": request.GET.urlencode(),
    }


def _answers(request: HttpRequest) -> Context:
    """Where the home page asks, for the days that it shows."""
    first = timezone.localdate() - timedelta(days=days_at_home(request) - 1)
    query = f"?first={first.isoformat()}"
    return {
        "address": reverse("admin:orders_order_report_answers") + query,
        "report": reverse("admin:orders_order_report") + query,
    }


def file_view(request: HttpRequest) -> HttpResponse:
    """One of the tables, for a spreadsheet; ``table`` of the query names it.

    Raises:
        Http404: There is no such table, or there are no such days.
    """
    require(request, REPORT)
    form, name = _form(request), request.GET.get("table", "sales")
    if name not in _TABLES or not form.is_valid():
        raise Http404("There is no such report")
    days = Days(**form.cleaned_data)
    table = _TABLES[name](days)
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    file = f"{name}-{days.first:%Y-%m-%d}-{days.last:%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    add_never_cache_headers(response)
    writer = Writer(response, table.header)
    for line in table.lines:
        writer.write(dict(zip(table.header, line, strict=True)))
    return response


def _form(request: HttpRequest) -> DaysForm:
    today = timezone.localdate()
    usual = {"first": today - timedelta(days=DEFAULT_DAYS - 1), "last": today}
    return DaysForm({name: request.GET.get(name, value) for name, value in usual.items()})


# --- the tables ---


def _sales(days: Days) -> Table:
    """Day by day beside the day as many days before."""
    currency = current_shop().currency
    before = days.before
    found = reporting.sold_by_day(Days(before.first, days.last))
    pairs = [
        (day, found.get(day, Sold()), found.get(then, Sold()))
        for day, then in zip(days.each(), before.each(), strict=True)
    ]
    now = sum((sold.money for _, sold, _ in pairs), ZERO)
    then = sum((sold.money for _, _, sold in pairs), ZERO)
    orders = [sum(sold.orders for sold in side) for side in zip(*((a, b) for _, a, b in pairs), strict=True)]
    others = sum(sold.others for _, sold, _ in pairs)

    def values(sold: Sold, earlier: Sold, write: Callable[[Decimal, str], str]) -> tuple[object, ...]:
        return sold.orders, write(sold.money, currency), earlier.orders, write(earlier.money, currency)

    note = _("{orders}; before, from {first} to {last}: {money} in {orders_before}.").format(
        orders=_orders(orders[0]),
        first=languages.dated(before.first, "j M Y"),
        last=languages.dated(before.last, "j M Y"),
        money=languages.money(then, currency),
        orders_before=_orders(orders[1]),
    )
    return Table(
        title=_("{money}, {change}").format(money=languages.money(now, currency), change=_change(now, then)),
        columns=(
            _("Day"),
            _("Orders"),
            _("Money ({currency})").format(currency=currency),
            _("Orders before"),
            _("Money before ({currency})").format(currency=currency),
        ),
        header=("Day", "Orders", f"Money ({currency})", "Orders before", f"Money before ({currency})"),
        rows=[
            (languages.dated(day, "j M Y"), *values(sold, earlier, languages.amount))
            for day, sold, earlier in reversed(pairs)
            if sold.orders or earlier.orders
        ],
        lines=[(day.isoformat(), *values(sold, earlier, text_of)) for day, sold, earlier in pairs],
        note=note,
        footer=_not_added(others),
        pairs=pairs_of(
            [
                (earlier.money, sold.money, f"{languages.dated(day, 'j M')}: {languages.money(sold.money, currency)}")
                for day, sold, earlier in pairs
            ]
        ),
        legend=(_("these days"), _("the days before")),
    )


def _returning(days: Days) -> Table:
    """Day by day, how many orders are of customers who had bought before."""
    found = reporting.buyers_by_day(days)
    rows = [(day, found.get(day, Buyers())) for day in days.each()]
    total = Buyers(*(sum(getattr(each, name) for _, each in rows) for name in ("orders", "returning", "first")))

    def values(each: Buyers) -> tuple[object, ...]:
        return each.returning, each.first, each.unknown

    known = total.returning + total.first
    note = _("Of {orders}, {returning} came from customers who had bought before.")
    if known:
        note = _(
            "Of {orders}, {returning} came from customers who had bought before "
            "({percent} % of those whose customer is known)."
        )
    return Table(
        title=_("{orders} of returning customers").format(orders=_orders(total.returning)),
        columns=(_("Day"), _("Returning customers"), _("First orders"), _("Unknown customers")),
        header=("Day", "Returning customers", "First orders", "Unknown customers"),
        rows=[(languages.dated(day, "j M Y"), *values(each)) for day, each in reversed(rows) if each.orders],
        lines=[(day.isoformat(), *values(each)) for day, each in rows],
        note=note.format(
            orders=_orders(total.orders),
            returning=total.returning,
            percent=round(100 * total.returning / known) if known else 0,
        ),
        pairs=pairs_of(
            [
                (
                    Decimal(each.orders),
                    Decimal(each.returning),
                    _("{day}: {returning} of {orders}").format(
                        day=languages.dated(day, "j M"), returning=each.returning, orders=each.orders
                    ),
                )
                for day, each in rows
            ]
        ),
        legend=(_("of returning customers"), _("all orders")),
    )


def _products(days: Days, most: int = MOST_SHOWN) -> Table:
    """Products by what they were bought for."""
    currency = current_shop().currency
    found = reporting.best_sellers(days)

    def lines(sellers: Iterable[Seller], write: Callable[[Decimal, str], str]) -> list[tuple[object, ...]]:
        return [(each.name, each.orders, each.units, write(each.money, currency)) for each in sellers]

    shown = found[:most]
    return Table(
        title=_("Best sellers"),
        columns=(_("Product"), _("Orders"), _("Units"), _("Money ({currency})").format(currency=currency)),
        header=("Product", "Orders", "Units", f"Money ({currency})"),
        rows=lines(shown, languages.amount),
        lines=lines(found, text_of),
        note=_("What their units were bought for, with discounts and taxes, without shipping and duties."),
        bars=bars_of([(each.money, f"{each.name}: {languages.money(each.money, currency)}") for each in shown]),
        more=len(found) - len(shown),
    )


_TABLES: Tables = {"sales": _sales, "returning": _returning, "products": _products}


def _orders(count: int) -> str:
    return ngettext("{count} order", "{count} orders", count).format(count=languages.count(count))


def _not_added(others: int) -> str:
    """That orders in other currencies are left out; empty where there are none."""
    if not others:
        return ""
    return _("{orders} in other currencies cannot be added to it.").format(orders=_orders(others))


def _change(now: Decimal, then: Decimal) -> str:
    """How much more or less, in words."""
    if now == then:
        return _("as much as before")
    if not then:
        return _("after nothing before")
    percent = abs(round(100 * (now - then) / then))
    said = _("{percent} % more than before") if now > then else _("{percent} % less than before")
    return said.format(percent=languages.count(percent))


home.add_section(home.Section("panel/orders/answers.html", REPORT, _answers))
