"""Panel pages for creating, editing and removing fulfillment services, and for reading their request logs."""

from typing import ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.catalog.models import Variant
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import attribute_column
from apps.core.exceptions import DomainError
from apps.core.i18n.formats import lowercase_label
from apps.core.tenancy.models import App, Installation
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.fulfillment.admin.permissions import CHANGE_SERVICE, VIEW_SERVICE
from apps.fulfillment.domain.services import changes, polling
from apps.fulfillment.models import FulfillmentOrder, FulfillmentService, Pull, PullAttempt
from apps.fulfillment.models.orders import UNFINISHED
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import InventoryLevel, Location
from apps.shops.admin.uninstall_preview import uninstall_counts

DELETE_SERVICE = "fulfillment.delete_fulfillmentservice"
MAX_SHOWN = 50
COLUMNS = (
    "name",
    "callback_url",
    "inventory_management",
    "tracking_support",
    "requires_shipping_method",
    "permits_sku_sharing",
)


class ServiceForm(PanelForm[FulfillmentService]):
    run_by = forms.ChoiceField(
        label=gettext_lazy("App"),
        help_text=gettext_lazy(
            "The app that runs the service. Requests to the service are signed with the app's secret."
        ),
    )

    class Meta:
        model = FulfillmentService
        fields = COLUMNS

    def prepare(self) -> None:
        """Set the choices of the app field. The app of an existing service cannot be changed."""
        if self.instance._state.adding:
            installed_app_ids = Installation.rows().filter(uninstalled_at=None).values("app_id")
            installed_apps = App.objects.filter(pk__in=installed_app_ids)
            apps = installed_apps.exclude(api_key__startswith=SHOP_APP_PREFIX).order_by("name", "pk")
            self.set_choices("run_by", ((str(app.pk), app.name) for app in apps))
        elif "run_by" in self.fields:
            app = self.instance.app
            self.set_choices("run_by", [(str(app.pk), app.name)])
            self.initial["run_by"] = str(app.pk)
            self.fields["run_by"].disabled = True


class RemoveForm(forms.Form):
    inventory_action = forms.ChoiceField(label=gettext_lazy("Inventory"), choices=changes.InventoryAction.choices)
    location = forms.TypedChoiceField(
        label=gettext_lazy("New location"),
        coerce=int,
        help_text=gettext_lazy("Unfinished fulfillment orders will be moved to this location."),
    )

    def __init__(self, data: object = None) -> None:
        """Offer the shop's own active locations, with the primary location selected."""
        super().__init__(data)  # type: ignore[arg-type]
        locations = Location.rows().filter(active=True, legacy=False).order_by("name", "id")
        field = self.fields["location"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(location.pk, location.name) for location in locations]
        if field.choices:
            field.initial = get_primary_location().pk


@admin.register(FulfillmentService)
class FulfillmentServiceAdmin(ShopOwnedAdmin[FulfillmentService]):
    menu = MenuItem("Apps", "warehouse", 25)
    search_terms = pgettext_lazy("search", "shipping, logistics, 3pl, warehouse, dropshipping")
    intro = gettext_lazy(
        "Warehouses that apps run for you. Each warehouse has its own location and receives your fulfillment requests."
    )
    empty_text = gettext_lazy(
        "No fulfillment services yet. Apps add their own services. You can also add a service for your own app."
    )
    form = ServiceForm
    fields = ("run_by", *COLUMNS)
    list_display = ("name", "app_name", "callback_url", "reports_stock", "reports_tracking")
    mobile_hide_labels = ("app_name", "callback_url")
    list_select_related = ("app",)
    search_fields = ("name__istartswith",)
    ordering = ("name", "id")
    actions = None
    change_form_template = "panel/fulfillment/service.html"
    list_filter: ClassVar[tuple[str, ...]] = ("inventory_management", "tracking_support")

    app_name = attribute_column("app.name", gettext_lazy("App"))
    reports_stock = attribute_column("inventory_management", gettext_lazy("Reports inventory"), boolean=True)
    reports_tracking = attribute_column("tracking_support", gettext_lazy("Reports tracking"), boolean=True)

    def get_queryset(self, request: HttpRequest) -> QuerySet[FulfillmentService]:
        """Load the location, too, because renaming the service also renames the location."""
        return super().get_queryset(request).select_related("app", "location")

    def save_model(self, request: HttpRequest, obj: FulfillmentService, form: ServiceForm, change: bool) -> None:
        values = {name: value for name, value in form.values_to_store.items() if name in COLUMNS}
        if change:
            service = FulfillmentService.objects.select_related("location").get(pk=obj.pk)
            changes.change_service(service, values, **self.event_kwargs(request))
            return
        app = App.objects.get(pk=form.cleaned_data["run_by"])
        created = changes.create_service(values, app=app, **self.event_kwargs(request))
        obj.pk, obj.app, obj.location = created.pk, app, created.location
        obj._state.adding = False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        links = {"records_url": self.url("records", object_id), "may_remove": has_permission(request, DELETE_SERVICE)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **links})

    @row_view("records/", VIEW_SERVICE, CHANGE_SERVICE)
    def records_view(self, request: HttpRequest, service: FulfillmentService) -> HttpResponse:
        attempts = PullAttempt.rows().filter(service=service).order_by("-id")[:MAX_SHOWN]
        sees_calls = has_permission(request, "webhooks.view_delivery")
        return self.page(
            request,
            "panel/fulfillment/request_log.html",
            _("Requests to {service}").format(service=service),
            original=service,
            pulls=list(Pull.rows().filter(service=service).order_by("kind")),
            attempts=list(attempts),
            shown=MAX_SHOWN,
            sees_calls=sees_calls,
            calls=changes.get_recent_notifications(service, most=MAX_SHOWN) if sees_calls else [],
            may_pull=has_permission(request, CHANGE_SERVICE),
        )

    @row_view("pull/<str:kind>/", CHANGE_SERVICE, post_only=True, keyed=True)
    def pull_view(self, request: HttpRequest, service: FulfillmentService, kind: str) -> HttpResponse:
        if kind not in Pull.Kind.values:
            raise Http404(f"No request {kind}")
        by = self.event_kwargs(request)
        try:
            polling.pull_now(service, Pull.Kind(kind), at=by["at"], actor=by["actor"])
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            text = _("Requested {what} from {service}. Reload this page in a moment to see the response.").format(
                service=service, what=lowercase_label(str(Pull.Kind(kind).label))
            )
            self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self.url("records", service.pk))

    @row_view("delete/", DELETE_SERVICE, name="delete", keyed=True)
    def remove_view(self, request: HttpRequest, service: FulfillmentService) -> HttpResponse:
        form = RemoveForm(get_post_data(request))
        if form.is_bound and form.is_valid():
            try:
                changes.delete_service(
                    service,
                    inventory_action=form.cleaned_data["inventory_action"],
                    destination=Location.objects.get(pk=form.cleaned_data["location"]),
                    **self.event_kwargs(request),
                )
            except DomainError as error:
                form.add_error(None, format_errors(error))
            else:
                self.message_user(request, _("{service} deleted.").format(service=service), messages.SUCCESS)
                return HttpResponseRedirect(self.url("changelist"))
        location_id = service.location_id
        fulfillment_orders = FulfillmentOrder.rows().filter(assigned_location_id=location_id, status__in=UNFINISHED)
        stock = InventoryLevel.rows().filter(location_id=location_id).exclude(available=0)
        variants = Variant.rows().filter(fulfillment_service=service.handle)
        return self.page(
            request,
            "panel/fulfillment/remove_service.html",
            _("Delete {service}").format(service=service),
            original=service,
            form=form,
            goes=[
                (_("Unfinished fulfillment orders"), fulfillment_orders.count()),
                (_("Items in stock"), stock.count()),
                (_("Variants that your shop will fulfill from now on"), variants.count()),
            ],
        )


def _count_services(installation: Installation) -> int:
    return FulfillmentService.rows().filter(app_id=installation.app_id).count()


uninstall_counts.register(gettext_noop("fulfillment services"), _count_services)
