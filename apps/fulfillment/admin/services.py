"""Fulfillment services as staff see them: registered, changed, given up, and what was said to and asked of them."""

from typing import ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.models import Variant
from apps.fulfillment.admin.access import CHANGE_SERVICE, VIEW_SERVICE
from apps.fulfillment.domain import notifying, pulling, services
from apps.fulfillment.models import FulfillmentOrder, FulfillmentService, Pull, PullAttempt
from apps.fulfillment.models.orders import UNFINISHED
from apps.ground.errors import DomainError
from apps.ground.languages import lowered
from apps.inventory.domain.stock import primary_location
from apps.inventory.models import InventoryLevel, Location
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import once_or_back, posted
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm
from apps.panel.theme import display
from apps.panel.wording import in_words
from apps.shops.models import App, Installation

DELETE_SERVICE = "fulfillment.delete_fulfillmentservice"
SHOWN = 50
COLUMNS = (
    "name",
    "callback_url",
    "inventory_management",
    "tracking_support",
    "requires_shipping_method",
    "permits_sku_sharing",
)


class ServiceForm(PanelForm[FulfillmentService]):
    """A service, and on the way in the app that runs it."""

    run_by = forms.ChoiceField(
        label=gettext_lazy("App"),
        help_text=gettext_lazy("The app that runs it: its secret signs what the service is told."),
    )

    class Meta:
        model = FulfillmentService
        fields = COLUMNS

    def prepare(self) -> None:
        """The apps that are installed here; once it is made, it stays with its own."""
        if self.instance._state.adding:
            here = Installation.rows().filter(uninstalled_at=None).values("app_id")
            apps = App.objects.filter(pk__in=here).order_by("name", "pk")
            self.offer("run_by", ((str(app.pk), app.name) for app in apps))
        elif "run_by" in self.fields:
            app = self.instance.app
            self.offer("run_by", [(str(app.pk), app.name)])
            self.initial["run_by"] = str(app.pk)
            self.fields["run_by"].disabled = True


class RemoveForm(forms.Form):
    """What becomes of what a service leaves behind."""

    inventory_action = forms.ChoiceField(label=gettext_lazy("Its stock"), choices=services.InventoryAction.choices)
    location = forms.TypedChoiceField(
        label=gettext_lazy("Who takes over what it was to send"),
        coerce=int,
        help_text=gettext_lazy("One of your own locations."),
    )

    def __init__(self, data: object = None) -> None:
        """The locations that could take over, the primary one to begin with."""
        super().__init__(data)  # type: ignore[arg-type]
        own = Location.rows().filter(active=True, legacy=False).order_by("name", "id")
        field = self.fields["location"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(place.pk, place.name) for place in own]
        if field.choices:
            field.initial = primary_location().pk


@admin.register(FulfillmentService)
class FulfillmentServiceAdmin(ShopOwnedAdmin[FulfillmentService]):
    """Warehouses that apps run for the shop; the rules are the services'."""

    menu = Menu(
        "Apps", "warehouse", 30, words=pgettext_lazy("search", "shipping, logistics, 3pl, warehouse, dropshipping")
    )
    intro = gettext_lazy(
        "Warehouses that apps run for you. Each has a location of its own, and is told of what you ask of it."
    )
    empty_text = gettext_lazy("No fulfillment service. Apps bring theirs; you can also add one for an app of your own.")
    form = ServiceForm
    fields = ("run_by", *COLUMNS)
    list_display = ("name", "app_name", "callback_url", "stock", "numbers")
    list_self_evident = ("app_name", "callback_url")
    list_select_related = ("app",)
    search_fields = ("name__istartswith",)
    ordering = ("name", "id")
    actions = None
    change_form_template = "panel/fulfillment/service.html"
    list_filter: ClassVar[tuple[str, ...]] = ("inventory_management", "tracking_support")

    @display(description=gettext_lazy("App"))
    def app_name(self, service: FulfillmentService) -> str:
        """Who runs it."""
        return service.app.name

    @display(description=gettext_lazy("Reports stock"), boolean=True)
    def stock(self, service: FulfillmentService) -> bool:
        """Whether it is asked for its stock."""
        return service.inventory_management

    @display(description=gettext_lazy("Reports tracking"), boolean=True)
    def numbers(self, service: FulfillmentService) -> bool:
        """Whether it is asked for tracking numbers."""
        return service.tracking_support

    def get_queryset(self, request: HttpRequest) -> QuerySet[FulfillmentService]:
        """With its location, which is changed along with it."""
        return super().get_queryset(request).select_related("app", "location")

    def save_model(self, request: HttpRequest, obj: FulfillmentService, form: ServiceForm, change: bool) -> None:
        """Through the service, which checks and records."""
        given = {name: value for name, value in form.given.items() if name in COLUMNS}
        if change:
            stored = FulfillmentService.objects.select_related("location").get(pk=obj.pk)
            services.change_service(stored, given, **self.by(request))
            return
        app = App.objects.get(pk=form.cleaned_data["run_by"])
        made = services.create_service(given, app=app, **self.by(request))
        obj.pk, obj.app, obj.location = made.pk, app, made.location
        obj._state.adding = False

    def get_urls(self) -> list[URLPattern]:
        """What was said and asked, and asking now."""
        return [
            self.action_url("<path:object_id>/records/", self.records_view, "records"),
            self.action_url("<path:object_id>/pull/<str:kind>/", self.pull_view, "pull", keyed=True),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """With the way to its records."""
        links = {"records_url": self.url("records", object_id), "may_remove": may(request, DELETE_SERVICE)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **links})

    # --- what was said and asked ---

    def records_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The newest questions with their answers, and what it was told."""
        require(request, VIEW_SERVICE, CHANGE_SERVICE)
        service = self.row_or_404(request, object_id)
        attempts = PullAttempt.rows().filter(service=service).order_by("-id")[:SHOWN]
        sees_calls = may(request, "webhooks.view_delivery")
        return self.page(
            request,
            "panel/fulfillment/records.html",
            _("Calls to {service}").format(service=service),
            original=service,
            pulls=list(Pull.rows().filter(service=service).order_by("kind")),
            attempts=list(attempts),
            shown=SHOWN,
            sees_calls=sees_calls,
            calls=notifying.calls_of(service, most=SHOWN) if sees_calls else [],
            may_pull=may(request, CHANGE_SERVICE),
        )

    def pull_view(self, request: HttpRequest, object_id: str, kind: str) -> HttpResponse:
        """Ask now."""
        require(request, CHANGE_SERVICE)
        service = self.row_or_404(request, object_id)
        if kind not in Pull.Kind.values:
            raise Http404(f"No question {kind}")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        by = self.by(request)
        try:
            pulling.pull_now(service, Pull.Kind(kind), at=by["at"], actor=by["actor"])
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            said = _("{service} is being asked for its {what}. The answer stands here in a moment.").format(
                service=service, what=lowered(str(Pull.Kind(kind).label))
            )
            self.message_user(request, said, messages.SUCCESS)
        return HttpResponseRedirect(self.url("records", service.pk))

    # --- giving it up ---

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Say what goes, ask what becomes of it; then give the service up."""
        require(request, DELETE_SERVICE)
        service = self.row_or_404(request, object_id)
        answer = once_or_back(request, lambda: self._remove(request, service), keyed=True)
        assert isinstance(answer, HttpResponse)
        return answer

    def _remove(self, request: HttpRequest, service: FulfillmentService) -> HttpResponse:
        form = RemoveForm(posted(request))
        if form.is_bound and form.is_valid():
            try:
                services.delete_service(
                    service,
                    inventory_action=form.cleaned_data["inventory_action"],
                    destination=Location.objects.get(pk=form.cleaned_data["location"]),
                    **self.by(request),
                )
            except DomainError as refusal:
                form.add_error(None, in_words(refusal))
            else:
                self.message_user(request, _("{service} is no more.").format(service=service), messages.SUCCESS)
                return HttpResponseRedirect(self.url("changelist"))
        place = service.location_id
        work = FulfillmentOrder.rows().filter(assigned_location_id=place, status__in=UNFINISHED)
        stock = InventoryLevel.rows().filter(location_id=place).exclude(available=0)
        variants = Variant.rows().filter(fulfillment_service=service.handle)
        return self.page(
            request,
            "panel/fulfillment/remove_service.html",
            _("Remove {service}").format(service=service),
            original=service,
            form=form,
            goes=[
                (_("Fulfillment orders that it has not finished"), work.count()),
                (_("Items of which it has stock"), stock.count()),
                (_("Variants that name it, which become yours to send"), variants.count()),
            ],
        )
