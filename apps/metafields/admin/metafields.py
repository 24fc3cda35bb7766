"""Admin pages for the metafields of the shop itself."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.theme import display
from apps.core.tenancy.permissions import allow, grants
from apps.metafields.admin.forms import MetafieldForm, format_type_name
from apps.metafields.domain import write
from apps.metafields.domain.owners import get_owner_type_of_row
from apps.metafields.models import Metafield

grants.add(allow("preferences", "vacd", "metafields.metafield"))


class ShopMetafieldForm(PanelForm[Metafield], MetafieldForm):
    """The form for a shop metafield, with a check for concurrent changes."""

    class Meta(MetafieldForm.Meta):
        pass


@admin.register(Metafield)
class MetafieldAdmin(ShopOwnedAdmin[Metafield]):
    menu = MenuItem("Settings", "data_object", 40, gettext_lazy("Shop metafields"))
    search_terms = pgettext_lazy("search", "custom field, custom data, extra field, attribute")
    intro = gettext_lazy(
        "Custom data about your shop, for themes and apps. Products, collections and other objects have "
        "their own metafields."
    )
    empty_text = gettext_lazy("No metafields yet.")
    form = ShopMetafieldForm
    list_display = ("name", "kind", "short_value", "description", "updated_at")
    mobile_hide_labels = ("kind", "short_value", "description")
    list_display_links = ("name",)
    search_fields = ("namespace__istartswith", "key__istartswith")
    ordering = ("namespace", "key")
    fields = ("namespace", "key", "type", "value", "description")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Metafield]:
        return super().get_queryset(request).filter(owner_resource="shop")

    @display(description=gettext_lazy("Type"))
    def kind(self, metafield: Metafield) -> str:
        return format_type_name(metafield.type)

    @display(description=gettext_lazy("Name"), ordering="namespace")
    def name(self, metafield: Metafield) -> str:
        return str(metafield)

    @display(description=gettext_lazy("Value"))
    def short_value(self, metafield: Metafield) -> str:
        return metafield.value if len(metafield.value) <= 80 else f"{metafield.value[:80]}…"

    def save_model(self, request: HttpRequest, obj: Metafield, form: ShopMetafieldForm, change: bool) -> None:
        by = self.event_kwargs(request)
        if change:
            write.update_metafield(Metafield.objects.get(pk=obj.pk), form.values, **by)
            return
        shop = self.shop(request)
        metafield = write.create_metafield(get_owner_type_of_row(shop), shop.pk, form.values, **by)
        obj.pk, obj._state.adding = metafield.pk, False

    def delete_model(self, request: HttpRequest, obj: Metafield) -> None:
        write.delete_metafield(obj, **self.event_kwargs(request))
