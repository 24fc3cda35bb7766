"""Panel pages for customers: list, form, account, merge and personal data."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.lists.filters import RankedChoicesFilter, TitledChoicesFilter
from apps.core.admin.lists.search import PALETTE_CANDIDATES, is_palette_search, set_truncation_note
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.audit import former_ids
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.model_admin.registry import Inline
from apps.core.admin.pages import dashboard
from apps.core.admin.pages.tour import TourStep
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import attribute_column, display
from apps.core.db.lookups import in_materialized
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.jobs.metrics import find_stall
from apps.core.tenancy.models import Shop
from apps.core.tenancy.permissions import allow, grants
from apps.core.tenancy.scope import get_current_shop
from apps.customers.admin import merge_comparison as compare
from apps.customers.admin.changelist_search import (
    MAX_SCAN,
    TOO_MANY_MATCHES,
    OrdersFilter,
    SinceFilter,
    SpentFilter,
    TagFilter,
    ViewFilter,
    build_search_condition,
    find_by_words,
    get_first_matches,
    scan_list,
)
from apps.customers.admin.extension_points import get_customer_links, get_customer_sections
from apps.customers.admin.forms import CustomerForm, InviteForm
from apps.customers.admin.inlines import AddressInline, ConsentInline
from apps.customers.admin.similar_names import suggest_names
from apps.customers.domain import accounts, customers, erasure, merge, merge_rules, personal_data
from apps.customers.domain.lookup import get_merged_ids
from apps.customers.models import NEVER_ORDERED, Customer
from apps.metafields.admin.inline import MetafieldInline
from apps.shops.domain.address_formats import format_address

VIEW, CHANGE, DELETE = (f"customers.{verb}_customer" for verb in ("view", "change", "delete"))
_MIN_TERM, _MAX_TERM, _MAX_SUGGESTIONS = 2, 255, 20
HAS_ORDERS_MESSAGE = gettext_noop(
    "You can't delete customers with orders, because the orders are needed for bookkeeping. Erase the personal data "
    "instead."
)

grants.add(
    allow("customers", "vacd", "customers.customer", "customers.address"),
    allow("customers", "v", "customers.consentchange"),
)


class AccountFilter(TitledChoicesFilter):
    shown_title = gettext_lazy("account")


@admin.register(Customer)
class CustomerAdmin(ShopOwnedAdmin[Customer]):
    menu = MenuItem("Customers", "group", 10)
    search_terms = pgettext_lazy(
        "search",
        "buyer, client, people, contact, newsletter, subscriber, marketing, consent, e-mail, privacy, gdpr",
    )
    tour = TourStep(
        40,
        gettext_lazy("Customers"),
        gettext_lazy(
            "See a customer's orders, addresses and marketing consent on one page. You can also merge duplicate "
            "customers there."
        ),
    )
    intro = gettext_lazy("All customers who placed an order, have an account or were added by staff.")
    empty_text = gettext_lazy(
        "No customers yet. Customers are added automatically when they place an order. "
        "You can also add customers yourself."
    )
    form = CustomerForm
    list_display = ("name", "address", "account", "orders_count", "spent", "last_order")
    optional_columns = ("telephone", "newsletter", "tagged", "proven", "since")
    mobile_hide_labels = ("address",)
    day_columns = ("last_order", "since")
    list_display_links = ("name",)
    list_filter = (
        ViewFilter,
        ("state", AccountFilter),
        ("email_marketing_state", RankedChoicesFilter),
        "verified_email",
        "tax_exempt",
        TagFilter,
        SinceFilter,
        SpentFilter,
        OrdersFilter,
    )
    search_fields = ("search_text",)
    palette_order = 20
    search_help_text = gettext_lazy("Name, email, phone, company or tag:vip")
    ordering = ("-id",)
    change_form_template = "panel/customers/customer.html"
    actions = ("merge_chosen",)
    inlines = (AddressInline, ConsentInline, MetafieldInline)
    fieldsets = (
        (gettext_lazy("Contact details"), {"fields": (("first_name", "last_name"), ("email", "phone"))}),
        (gettext_lazy("Notes"), {"fields": ("note",)}),
        (gettext_lazy("Marketing"), {"classes": ("bo-aside",), "fields": ("email_consent", "sms_consent")}),
        (gettext_lazy("Organization"), {"classes": ("bo-aside",), "fields": ("tags", "verified_email", "tax_exempt")}),
    )

    @display(description=gettext_lazy("Name"), ordering="last_name")
    def name(self, customer: Customer) -> str:
        return str(customer)

    address = attribute_column("email", gettext_lazy("Email"), ordering="email_key")
    tagged = attribute_column("tags", gettext_lazy("Tags"))
    proven = attribute_column("verified_email", gettext_lazy("Email verified"), boolean=True)
    since = attribute_column("created_at", gettext_lazy("Created at"), ordering="created_at")

    @display(
        description=gettext_lazy("Account"),
        ordering="state",
        label={"enabled": "success", "invited": "info", "declined": "warning"},
    )
    def account(self, customer: Customer) -> tuple[str, str] | None:
        """Return the account's status. Most customers have no account, so their rows have no badge."""
        if customer.state == Customer.State.DISABLED:
            return None
        return customer.state, customer.get_state_display()

    @display(description=gettext_lazy("Total spent"), ordering="total_spent")
    def spent(self, customer: Customer) -> str:
        return formats.format_money(customer.total_spent, get_current_shop().currency)

    @display(description=gettext_lazy("Last order"), ordering="last_order_at", empty_value="–")
    def last_order(self, customer: Customer) -> datetime | None:
        return None if customer.last_order_at == NEVER_ORDERED else customer.last_order_at

    @display(description=gettext_lazy("Phone"))
    def telephone(self, customer: Customer) -> str:
        return customer.phone or ""

    @display(description=gettext_lazy("Email marketing"))
    def newsletter(self, customer: Customer) -> str:
        return customer.get_email_marketing_state_display()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Customer], search_term: str
    ) -> tuple[QuerySet[Customer], bool]:
        if not search_term:
            return queryset, False
        condition = build_search_condition(search_term, self.shop(request))
        if is_palette_search(request):
            matching = get_first_matches(Customer.rows().filter(condition).order_by(), PALETTE_CANDIDATES)
            return queryset.filter(in_materialized(matching.values("pk"))), False
        if ids := scan_list(queryset, condition):
            set_truncation_note(request, TOO_MANY_MATCHES.format(number=formats.format_integer(MAX_SCAN)))
            return queryset.filter(pk__in=ids), False
        return queryset.filter(condition), False

    def suggest_searches(self, term: str) -> list[str]:
        return suggest_names(term)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Remove the bulk delete action, because most customers have orders and can't be deleted."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def get_inlines(self, request: HttpRequest, obj: Customer | None) -> list[Inline]:
        """Return the inlines of this app, and those of other apps for which the customer has rows."""
        if obj is None:
            return [AddressInline]
        return [
            inline
            for inline in super().get_inlines(request, obj)
            if inline in self.inlines or inline.model._default_manager.filter(customer=obj).exists()
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        context = {
            **(extra_context or {}),
            "may_change": has_permission(request, CHANGE),
            "may_delete": has_permission(request, DELETE),
        }
        return super().change_view(request, object_id, form_url, context)

    def render_change_form(self, request: HttpRequest, context: Context, *args: Any, **kwargs: Any) -> HttpResponse:
        if (customer := context.get("original")) is not None:
            context["spent"] = self.spent(customer)
            links = get_customer_links(request, customer)
            context["buttons"] = [link for link in links if link.is_button]
            context["links"] = [link for link in links if not link.is_button]
            context["sections"] = get_customer_sections(request, customer)
            address = customer.default_address
            context["address"] = format_address(model_to_dict(address)) if address else []
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Customer, form: CustomerForm, change: bool) -> None:
        actor, now = self.actor(request), timezone.now()
        if change:
            customers.update_customer(obj, form.values, actor=actor, at=now)
        else:
            obj.pk = customers.create_customer(form.values, actor=actor, at=now).pk
            obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: Customer) -> None:
        try:
            customers.delete_customer(obj, **self.event_kwargs(request))
        except customers.CustomerHasOrders:
            raise DomainError(_(HAS_ORDERS_MESSAGE)) from None

    @extra_view("suggestions/", VIEW)
    def suggestions_view(self, request: HttpRequest) -> JsonResponse:
        """Return the email addresses and names of customers that match a search text, for email fields."""
        term = request.GET.get("q", "").replace("\0", "").strip()[:_MAX_TERM]
        rows = find_by_words(term, limit=_MAX_SUGGESTIONS) if len(term) >= _MIN_TERM else Customer.objects.none()
        found = [{"email": row.email, "name": str(row)} for row in rows if row.email]
        return JsonResponse({"customers": found})

    @row_view("invite/", CHANGE, keyed=True)
    def invite_view(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        shop = self.shop(request)
        initial = {"to": customer.email, "subject": f"Activate your account at {shop.name}"}
        form = InviteForm(get_post_data(request), initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                accounts.send_invite(customer, form.cleaned_data, **self.event_kwargs(request))
            except DomainError as error:
                form.add_error(None, format_errors(error))
            else:
                message = _("Invitation sent to {address}.").format(address=form.cleaned_data["to"])
                self.message_user(request, message, messages.SUCCESS)
                return self._redirect_to_customer(customer)
        return self._page(request, "invite", _("Invite {customer}").format(customer=customer), customer, form=form)

    @row_view("activation/", CHANGE)
    def activation_view(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        url = ""
        if request.method == "POST":
            try:
                url = accounts.create_activation_url(customer, **self.event_kwargs(request))
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
                return self._redirect_to_customer(customer)
        title = _("Activation link for {customer}").format(customer=customer)
        response = self._page(request, "activation", title, customer, url=url)
        response.status_code = 201 if url else 200
        add_never_cache_headers(response)
        return response

    @row_view("disable/", CHANGE)
    def disable_view(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        if request.method == "POST":
            message = _("The account of {customer} was disabled.").format(customer=customer)
            return self.run_action(request, customer, message, accounts.disable_account)
        title = _("Disable the account of {customer}").format(customer=customer)
        return self._page(request, "disable", title, customer)

    @admin.action(description=gettext_lazy("Merge customers…"), permissions=["delete"])
    def merge_chosen(self, request: HttpRequest, queryset: QuerySet[Customer]) -> HttpResponse | None:
        """Redirect to the comparison of two selected customers. By default, the older customer is kept."""
        ids = list(queryset.order_by("pk").values_list("pk", flat=True)[:3])
        if len(ids) == 2:
            return HttpResponseRedirect(f"{self.url('merge_with', ids[0])}?other={ids[1]}")
        self.message_user(request, _("Select exactly two customers to merge."), messages.ERROR)
        return None

    @row_view("merge/", CHANGE)
    def merge_view(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        """Show possible duplicates, or the progress if a worker is merging the customer."""
        require_permission(request, DELETE)
        q = request.GET.get("q", "").strip()
        candidates = compare.find_duplicates(customer)
        if q:
            candidates = (
                Customer.objects.exclude(pk=customer.pk)
                .filter(build_search_condition(q, self.shop(request)))
                .order_by("-pk")
            )
        job = merge.find_merge_job(customer.pk)
        listed = list(candidates[: compare.MAX_CANDIDATES])
        title = _("Merge {customer}").format(customer=customer)
        return self._page(request, "merge", title, customer, q=q, found=listed, job=job, waits=find_stall(job))

    @row_view("merge/with/", CHANGE, keyed=True)
    def merge_with_view(self, request: HttpRequest, keep: Customer) -> HttpResponse:
        """Show the comparison with the customer in ``other``, or merge the two customers with the selected values."""
        require_permission(request, DELETE)
        other_id = request.GET.get("other", "")
        if not other_id:
            return HttpResponseRedirect(self.url("merge", keep.pk))
        other: Customer = self.get_row_or_404(request, other_id)
        error_text, choices, other_name = "", compare.parse_choices(request.POST.dict()), str(other)
        try:
            if request.method == "POST":
                if merge.merge_customers(keep, other, choices, **self.event_kwargs(request)):
                    success_text = _("{other} was merged into {customer}.").format(other=other_name, customer=keep)
                    self.message_user(request, success_text, messages.SUCCESS)
                    return self._redirect_to_customer(keep)
                message = _("Merging customers. This page shows the progress.")
                self.message_user(request, message, messages.SUCCESS)
                return HttpResponseRedirect(self.url("merge", keep.pk))
            merge.check_mergeable(keep, other)
        except DomainError as error:
            error_text = format_errors(error)
            choices = {}
        return self._page(
            request,
            "merge_with",
            _("Merge {customer} and {other}").format(customer=keep, other=other),
            keep,
            other=other,
            rows=compare.compare_customers(keep, other, choices),
            tags=merge_rules.merge_tags(keep, other),
            addresses=(keep.addresses.count(), other.addresses.count()),
            error=error_text,
        )

    @row_view("data/", CHANGE)
    def data_view(self, request: HttpRequest, customer: Customer, wrong_number: bool = False) -> HttpResponse:
        title = _("Personal data of {customer}").format(customer=customer)
        job = erasure.find_erasure_job(customer.pk) if customer.erasing_at else None
        context = {
            "job": job,
            "waits": find_stall(job),
            "wrong": wrong_number,
            "may_erase": has_permission(request, DELETE),
        }
        return self._page(request, "data", title, customer, **context)

    @row_view("data/export/", CHANGE, name="data_export", post_only=True)
    def export_view(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        """Download all data of the customer, or create an export job if there are many rows."""
        if not erasure.has_few_rows(customer):
            assert isinstance(request.user, AbstractBaseUser)
            number = personal_data.export_data_as_file(customer, user=request.user, **self.event_kwargs(request))
            return HttpResponseRedirect(reverse("admin:imports_exports_export_change", args=[number]))
        data = personal_data.export_data(customer, **self.event_kwargs(request))
        response = JsonResponse(data, json_dumps_params={"indent": 2, "ensure_ascii": False})
        response["Content-Disposition"] = f'attachment; filename="customer-{customer.pk}.json"'
        add_never_cache_headers(response)
        return response

    @row_view("data/erase/", DELETE, name="data_erase", post_only=True)
    def erase_view(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        """Erase the personal data. Staff must enter the customer's number, because an erasure can't be undone."""
        if request.POST.get("confirm", "").strip() != str(customer.pk):
            return self.data_view(request, customer, wrong_number=True)
        if erasure.erase_customer(customer, **self.event_kwargs(request)):
            self.message_user(request, _("Personal data erased."), messages.SUCCESS)
            return self._redirect_to_customer(customer)
        message = _("Erasing personal data. This page shows the progress.")
        self.message_user(request, message, messages.SUCCESS)
        return HttpResponseRedirect(self.url("data", customer.pk))

    def _page(self, request: HttpRequest, name: str, title: str, customer: Customer, **context: object) -> HttpResponse:
        accounts_off = self.shop(request).customer_accounts == Shop.CustomerAccounts.DISABLED
        return self.page(
            request, f"panel/customers/{name}.html", title, original=customer, accounts_off=accounts_off, **context
        )

    def _redirect_to_customer(self, customer: Customer) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.url("change", customer.pk))


def _customer_figure(request: HttpRequest) -> dashboard.Figure:
    return dashboard.Figure(dashboard.format_capped_count(Customer.rows()), _("in total"))


dashboard.cards.add(dashboard.Card(gettext_lazy("Customers"), "group", VIEW, Customer, _customer_figure, order=40))
former_ids.register(Customer, get_merged_ids)
