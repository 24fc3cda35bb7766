from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.domain.online_store import redirects
from apps.content.models import Redirect
from apps.core.admin.forms.forms import PanelForm, Values
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.tenancy.permissions import allow, grants
from apps.core.tenancy.shops import lock_shop

grants.add(allow("links", "vacd", "content.redirect"))


class RedirectForm(PanelForm[Redirect]):
    def prepare(self) -> None:
        if "path" in self.fields:
            self.fields["path"].help_text = gettext_lazy("A path of your online store, such as /old-page.")
            target = self.fields["target"]
            target.help_text = gettext_lazy("A path such as /pages/new-page, or the URL of another site.")

    def clean(self) -> Values | None:
        for field, errors in redirects.clean_redirect(self.cleaned_data).items():
            self.add_error(field, errors)
        return super().clean()


@admin.register(Redirect)
class RedirectAdmin(ShopOwnedAdmin[Redirect]):
    form = RedirectForm
    menu = MenuItem("Online store", "alt_route", 30, gettext_lazy("URL redirects"))
    search_terms = pgettext_lazy("search", "forwarding, links, navigation, 301, old url, moved page")
    intro = gettext_lazy("Visitors who open an old URL are redirected to the new URL. Each path has one redirect.")
    empty_text = gettext_lazy("No redirects yet. Create redirects when URLs change, or import them from a file.")
    list_display = ("path", "target", "created_at")
    search_fields = ("path__icontains", "target__icontains")
    ordering = ("-id",)
    fieldsets = ((gettext_lazy("Redirect"), {"fields": ("path", "target")}),)

    def lock_row(self, instance: Redirect) -> None:
        """Lock the shop first, in the same order as the service."""
        lock_shop()
        super().lock_row(instance)

    def save_model(self, request: HttpRequest, obj: Redirect, form: RedirectForm, change: bool) -> None:
        attrs = {name: form.cleaned_data[name] for name in ("path", "target")}
        if change:
            redirects.update_redirect(Redirect.objects.get(pk=obj.pk), attrs, **self.event_kwargs(request))
            return
        redirect = redirects.create_redirect(**attrs, **self.event_kwargs(request))
        obj.__dict__.update(redirect.__dict__)

    def delete_model(self, request: HttpRequest, obj: Redirect) -> None:
        redirects.delete_redirect(obj, **self.event_kwargs(request))
