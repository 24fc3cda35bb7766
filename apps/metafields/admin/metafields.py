"""The shop's own metafields as staff see them; those of other owners stand in their owners' forms."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.metafields.admin.forms import MetafieldForm, called
from apps.metafields.domain import setting
from apps.metafields.domain.owners import owner_of
from apps.metafields.models import Metafield
from apps.panel.menu import Menu
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm
from apps.panel.theme import display
from apps.staff.domain.permissions import grant

grant("preferences", "vacd", "metafields.metafield")


class ShopMetafieldForm(PanelForm[Metafield], MetafieldForm):
    """With the check that nobody changed it meanwhile."""

    class Meta(MetafieldForm.Meta):
        pass


@admin.register(Metafield)
class MetafieldAdmin(ShopOwnedAdmin[Metafield]):
    """Further data of the shop, written by staff and apps."""

    menu = Menu(
        "Settings",
        "data_object",
        40,
        gettext_lazy("Shop metafields"),
        words=pgettext_lazy("search", "custom field, custom data, extra field, attribute"),
    )
    intro = gettext_lazy(
        "Further data of the shop itself, for its themes and apps. Products, collections and others have their own."
    )
    empty_text = gettext_lazy("The shop has no metafields.")
    form = ShopMetafieldForm
    list_display = ("name", "kind", "shown_value", "description", "updated_at")
    list_self_evident = ("kind", "shown_value", "description")
    list_display_links = ("name",)
    search_fields = ("namespace__istartswith", "key__istartswith")
    ordering = ("namespace", "key")
    fields = ("namespace", "key", "type", "value", "description")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Metafield]:
        """Those of the shop itself."""
        return super().get_queryset(request).filter(owner_resource="shop")

    @display(description=gettext_lazy("Type"))
    def kind(self, metafield: Metafield) -> str:
        """The type, in words."""
        return called(metafield.type)

    @display(description=gettext_lazy("Name"), ordering="namespace")
    def name(self, metafield: Metafield) -> str:
        """Namespace and key."""
        return str(metafield)

    @display(description=gettext_lazy("Value"))
    def shown_value(self, metafield: Metafield) -> str:
        """Its beginning."""
        return metafield.value if len(metafield.value) <= 80 else f"{metafield.value[:80]}…"

    def save_model(self, request: HttpRequest, obj: Metafield, form: ShopMetafieldForm, change: bool) -> None:
        """Through the service, which records it."""
        by = self.by(request)
        if change:
            setting.update(Metafield.objects.get(pk=obj.pk), form.values, **by)
            return
        shop = self.shop(request)
        made = setting.create(owner_of(shop), shop.pk, form.values, **by)
        obj.pk, obj._state.adding = made.pk, False

    def delete_model(self, request: HttpRequest, obj: Metafield) -> None:
        """Through the service, which records it."""
        setting.delete(obj, **self.by(request))
