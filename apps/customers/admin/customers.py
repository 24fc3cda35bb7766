"""Customers: found, changed, invited, disabled; their personal data handed over and erased."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.customers.admin import merging as compare
from apps.customers.admin.filters import OrdersFilter, SinceFilter, SpentFilter, TagFilter
from apps.customers.admin.forms import CustomerForm, InviteForm
from apps.customers.admin.inlines import AddressInline, ConsentInline
from apps.customers.admin.searching import VERY_MANY, WALKED, first_found, matches, met_in_list
from apps.customers.domain import accounts, customers, erasing, merged, merging, personal_data
from apps.customers.models import NEVER, Customer
from apps.ground import languages
from apps.ground.errors import DomainError
from apps.ground.lookups import among
from apps.ground.tenancy import current_shop
from apps.jobs.domain.waiting import waits_since
from apps.metafields.admin.inline import MetafieldInline
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import posted
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.extensions import Inline
from apps.panel.screens.filters import RankedChoicesFilter
from apps.panel.screens.history import add_former
from apps.panel.screens.searching import CANDIDATES, is_from_anywhere, note_cut
from apps.panel.theme import display
from apps.panel.tour import Step
from apps.panel.wording import in_words
from apps.shops.models import Shop
from apps.staff.domain.permissions import grant

VIEW, CHANGE, DELETE = (f"customers.{verb}_customer" for verb in ("view", "change", "delete"))
WHY_KEPT = gettext_noop("Customers with orders stay: book-keeping needs them. Erase the personal data instead.")

grant("customers", "vacd", "customers.customer", "customers.address")
grant("customers", "v", "customers.consentchange")


@admin.register(Customer)
class CustomerAdmin(ShopOwnedAdmin[Customer]):
    """The shop's customers."""

    menu = Menu(
        "Customers",
        "group",
        10,
        words=pgettext_lazy(
            "search",
            "buyer, client, people, contact, newsletter, subscriber, marketing, consent, e-mail, privacy, gdpr",
        ),
    )
    tour = Step(
        40,
        gettext_lazy("Who buys"),
        gettext_lazy(
            "What a customer bought, where they live and what they agreed to stand on one page. Two entries "
            "for one person are merged from there, too."
        ),
    )
    intro = gettext_lazy("Everybody who bought here, has an account, or was added by hand.")
    empty_text = gettext_lazy("No customer yet. They come with their first order, or you add them.")
    form = CustomerForm
    list_display = ("name", "address", "account", "orders_count", "spent", "last_order", "since")
    list_extra = ("telephone", "newsletter", "tagged", "proven")
    list_self_evident = ("address",)
    list_display_links = ("name",)
    list_filter = (
        "state",
        ("email_marketing_state", RankedChoicesFilter),
        "verified_email",
        "tax_exempt",
        TagFilter,
        SinceFilter,
        SpentFilter,
        OrdersFilter,
    )
    search_fields = ("search_text",)
    place_in_search = 20
    search_help_text = gettext_lazy(
        "A word of the name, e-mail, phone or company, or a query such as tag:vip country:Sweden"
    )
    ordering = ("-id",)
    change_form_template = "panel/customers/customer.html"
    actions = ("merge_chosen",)
    inlines = (AddressInline, ConsentInline, MetafieldInline)
    fieldsets = (
        (None, {"fields": (("first_name", "last_name"), ("email", "phone"), "verified_email")}),
        (gettext_lazy("Notes"), {"fields": ("tags", "note", "tax_exempt")}),
        (gettext_lazy("Marketing"), {"fields": (("email_consent", "sms_consent"),)}),
    )

    # --- the list ---

    @display(description=gettext_lazy("Name"), ordering="last_name")
    def name(self, customer: Customer) -> str:
        """What people call the customer."""
        return str(customer)

    @display(description=gettext_lazy("E-mail"), ordering="email_key")
    def address(self, customer: Customer) -> str:
        """As it was given."""
        return customer.email

    @display(
        description=gettext_lazy("Account"),
        ordering="state",
        label={"enabled": "success", "invited": "info", "declined": "warning", "disabled": "default"},
    )
    def account(self, customer: Customer) -> tuple[str, str]:
        """Whether there is an account."""
        return customer.state, customer.get_state_display()

    @display(description=gettext_lazy("Spent"), ordering="total_spent")
    def spent(self, customer: Customer) -> str:
        """What the customer spent, in the shop's currency."""
        return languages.amount(customer.total_spent, current_shop().currency)

    @display(description=gettext_lazy("Last order"), ordering="last_order_at", empty_value="–")
    def last_order(self, customer: Customer) -> datetime | None:
        """When the customer last ordered."""
        return None if customer.last_order_at == NEVER else customer.last_order_at

    @display(description=gettext_lazy("Phone"))
    def telephone(self, customer: Customer) -> str:
        """As it was given."""
        return customer.phone or ""

    @display(description=gettext_lazy("E-mail marketing"))
    def newsletter(self, customer: Customer) -> str:
        """Whether mails may advertise."""
        return customer.get_email_marketing_state_display()

    @display(description=gettext_lazy("Tags"))
    def tagged(self, customer: Customer) -> str:
        """As they were given."""
        return customer.tags

    @display(description=gettext_lazy("E-mail verified"), boolean=True)
    def proven(self, customer: Customer) -> bool:
        """Whether the address is the customer's."""
        return customer.verified_email

    @display(description=gettext_lazy("Created at"), ordering="created_at")
    def since(self, customer: Customer) -> datetime:
        """When the customer became known."""
        return customer.created_at

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Customer], search_term: str
    ) -> tuple[QuerySet[Customer], bool]:
        """By the query language; what is no query is searched word by word."""
        if not search_term:
            return queryset, False
        fits = matches(search_term, self.shop(request))
        if is_from_anywhere(request):
            found = first_found(Customer.rows().filter(fits).order_by(), CANDIDATES)
            return queryset.filter(among(found.values("pk"))), False
        if met := met_in_list(queryset, fits):
            note_cut(request, VERY_MANY.format(number=languages.count(WALKED)))
            return queryset.filter(pk__in=met), False
        return queryset.filter(fits), False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Without deleting many: most customers have orders, and stay."""
        return {name: each for name, each in super().get_actions(request).items() if name != "delete_selected"}

    # --- the form ---

    def get_inlines(self, request: HttpRequest, obj: Customer | None) -> list[Inline]:
        """Of a new customer only the addresses."""
        return super().get_inlines(request, obj) if obj is not None else [AddressInline]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """With what can be done with the account and the data."""
        context = {**(extra_context or {}), "may_change": may(request, CHANGE), "may_delete": may(request, DELETE)}
        return super().change_view(request, object_id, form_url, context)

    def render_change_form(self, request: HttpRequest, context: Context, *args: Any, **kwargs: Any) -> HttpResponse:
        """With what the customer spent, as amounts are written."""
        if (customer := context.get("original")) is not None:
            context["spent"] = f"{self.spent(customer)} {current_shop().currency}"
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Customer, form: CustomerForm, change: bool) -> None:
        """Through the services, which check, record and tell."""
        actor, now = self.actor(request), timezone.now()
        if change:
            customers.update_customer(obj, form.values, actor=actor, at=now)
        else:
            obj.pk = customers.create_customer(form.values, actor=actor, at=now).pk
            obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: Customer) -> None:
        """Customers with orders stay, and the page says why."""
        try:
            customers.delete_customer(obj, **self.by(request))
        except customers.HasOrders:
            raise DomainError(_(WHY_KEPT)) from None

    # --- pages of our own ---

    def get_urls(self) -> list[URLPattern]:
        """Invitation, link, disabling and personal data, besides Django's own."""
        return [
            self.action_url("<path:object_id>/invite/", self.invite_view, "invite", keyed=True),
            self.action_url("<path:object_id>/activation/", self.activation_view, "activation"),
            self.action_url("<path:object_id>/disable/", self.disable_view, "disable"),
            self.action_url("<path:object_id>/merge/with/", self.merge_with_view, "merge_with", keyed=True),
            self.action_url("<path:object_id>/merge/", self.merge_view, "merge"),
            self.action_url("<path:object_id>/data/", self.data_view, "data"),
            self.action_url("<path:object_id>/data/export/", self.export_view, "data_export"),
            self.action_url("<path:object_id>/data/erase/", self.erase_view, "data_erase"),
            *super().get_urls(),
        ]

    def invite_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write and send an invitation."""
        require(request, CHANGE)
        customer: Customer = self.row_or_404(request, object_id)
        shop = self.shop(request)
        initial = {"to": customer.email, "subject": f"Activate your account at {shop.name}"}
        form = InviteForm(posted(request), initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                accounts.send_invite(customer, form.cleaned_data, **self.by(request))
            except DomainError as refusal:
                form.add_error(None, in_words(refusal))
            else:
                done = _("The invitation to {address} is on its way.").format(address=form.cleaned_data["to"])
                self.message_user(request, done, messages.SUCCESS)
                return self._back(customer)
        return self._page(request, "invite", _("Invite {customer}").format(customer=customer), customer, form=form)

    def activation_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make an activation link, and show it this once."""
        require(request, CHANGE)
        customer: Customer = self.row_or_404(request, object_id)
        url = ""
        if request.method == "POST":
            try:
                url = accounts.make_activation_url(customer, **self.by(request))
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
                return self._back(customer)
        title = _("Activation link of {customer}").format(customer=customer)
        response = self._page(request, "activation", title, customer, url=url)
        response.status_code = 201 if url else 200
        add_never_cache_headers(response)
        return response

    def disable_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the account away, after asking."""
        require(request, CHANGE)
        customer: Customer = self.row_or_404(request, object_id)
        if request.method == "POST":
            try:
                accounts.disable(customer, **self.by(request))
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
            else:
                done = _("The account of {customer} is disabled.").format(customer=customer)
                self.message_user(request, done, messages.SUCCESS)
            return self._back(customer)
        title = _("Disable the account of {customer}").format(customer=customer)
        return self._page(request, "disable", title, customer)

    @admin.action(description=gettext_lazy("Merge the two chosen…"), permissions=["delete"])
    def merge_chosen(self, request: HttpRequest, queryset: QuerySet[Customer]) -> HttpResponse | None:
        """Lead to the page that compares two customers; the older one stays unless staff swap them."""
        ids = list(queryset.order_by("pk").values_list("pk", flat=True)[:3])
        if len(ids) == 2:
            return HttpResponseRedirect(f"{self.url('merge_with', ids[0])}?other={ids[1]}")
        self.message_user(request, _("Tick the two customers who are the same person."), messages.ERROR)
        return None

    def merge_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Find who is the same person; while a worker merges, how far it is."""
        self._require_merging(request)
        customer: Customer = self.row_or_404(request, object_id)
        q = request.GET.get("q", "").strip()
        found = compare.alike(customer)
        if q:
            found = Customer.objects.exclude(pk=customer.pk).filter(matches(q, self.shop(request))).order_by("-pk")
        job = merging.job_of(customer.pk)
        shown = list(found[: compare.MOST_SHOWN])
        title = _("Merge {customer}").format(customer=customer)
        return self._page(request, "merge", title, customer, q=q, found=shown, job=job, waits=waits_since(job))

    def merge_with_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Compare a customer with the ``other``, and merge them as chosen."""
        self._require_merging(request)
        keep: Customer = self.row_or_404(request, object_id)
        other_id = request.GET.get("other", "")
        if not other_id:
            return HttpResponseRedirect(self.url("merge", keep.pk))
        other: Customer = self.row_or_404(request, other_id)
        refusal, chosen = "", compare.choices_in(request.POST.dict())
        try:
            if request.method == "POST":
                if merging.merge(keep, other, chosen, **self.by(request)):
                    done = _("Customer {number} was merged into {customer}.").format(number=other_id, customer=keep)
                    self.message_user(request, done, messages.SUCCESS)
                    return self._back(keep)
                message = _("The customers are being merged; this page shows how far it is.")
                self.message_user(request, message, messages.SUCCESS)
                return HttpResponseRedirect(self.url("merge", keep.pk))
            merging.refuse(keep, other)
        except DomainError as error:
            refusal = in_words(error)
            chosen = {}
        return self._page(
            request,
            "merge_with",
            _("Merge {customer} and {other}").format(customer=keep, other=other),
            keep,
            other=other,
            rows=compare.compared(keep, other, chosen),
            tags=merged.all_tags(keep, other),
            addresses=(keep.addresses.count(), other.addresses.count()),
            refusal=refusal,
        )

    def _require_merging(self, request: HttpRequest) -> None:
        """One of two is changed, and one is deleted."""
        require(request, CHANGE)
        require(request, DELETE)

    def data_view(self, request: HttpRequest, object_id: str, wrong: bool = False) -> HttpResponse:
        """What can be done with the personal data."""
        require(request, CHANGE)
        customer: Customer = self.row_or_404(request, object_id)
        title = _("Personal data of {customer}").format(customer=customer)
        job = erasing.job_of(customer.pk) if customer.erasing_at else None
        shown = {"job": job, "waits": waits_since(job), "wrong": wrong, "may_erase": may(request, DELETE)}
        return self._page(request, "data", title, customer, **shown)

    def export_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Everything that is known, as a file: at once, or where there is much of it as an export that is fetched."""
        require(request, CHANGE)
        customer: Customer = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not erasing.is_small(customer):
            assert isinstance(request.user, AbstractBaseUser)
            number = personal_data.hand_over_as_file(customer, user=request.user, **self.by(request))
            return HttpResponseRedirect(reverse("admin:exchange_export_change", args=[number]))
        data = personal_data.hand_over(customer, **self.by(request))
        response = JsonResponse(data, json_dumps_params={"indent": 2, "ensure_ascii": False})
        response["Content-Disposition"] = f'attachment; filename="customer-{customer.pk}.json"'
        add_never_cache_headers(response)
        return response

    def erase_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Erase the personal data; the customer's number must be typed, for it cannot be undone."""
        require(request, DELETE)
        customer: Customer = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if request.POST.get("confirm", "").strip() != str(customer.pk):
            return self.data_view(request, object_id, wrong=True)
        if erasing.erase(customer, **self.by(request)):
            self.message_user(request, _("The personal data is erased."), messages.SUCCESS)
            return self._back(customer)
        message = _("The personal data is being erased; this page shows how far it is.")
        self.message_user(request, message, messages.SUCCESS)
        return HttpResponseRedirect(self.url("data", customer.pk))

    def _page(self, request: HttpRequest, name: str, title: str, customer: Customer, **context: object) -> HttpResponse:
        accounts_off = self.shop(request).customer_accounts == Shop.CustomerAccounts.DISABLED
        return self.page(
            request, f"panel/customers/{name}.html", title, original=customer, accounts_off=accounts_off, **context
        )

    def _back(self, customer: Customer) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.url("change", customer.pk))


def _known(request: HttpRequest) -> home.Figure:
    return home.Figure(home.counted(Customer.rows()), _("known to the shop"))


home.add_card(home.Card(gettext_lazy("Customers"), "group", VIEW, Customer, _known, order=40))
add_former(Customer, merging.former_ids)
