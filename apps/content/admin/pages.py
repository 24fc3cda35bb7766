from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.admin.preview import PreviewAdmin, render_preview
from apps.content.admin.publishing import (
    VISIBILITY_COLORS,
    VisibilityFilter,
    add_redirect_field,
    create_handle_field,
    create_redirect_field,
    get_visibility,
    redirect_if_renamed,
)
from apps.content.domain.online_store import pages, policies
from apps.content.models import Page, Policy
from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.forms.html_fields import MarkupArea, MarkupField
from apps.core.admin.forms.publishing import PublishingForm
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import extra_view
from apps.core.admin.theme import Fieldset, display
from apps.core.tenancy.permissions import allow, grants
from apps.core.tenancy.shops import lock_shop
from apps.metafields.admin.inline import MetafieldInline

grants.add(
    allow("pages", "vacd", "content.page"),
    allow("preferences", "vacd", "content.policy"),
)


class PageForm(PublishingForm[Page]):
    """Form for a page. The HTML is stored exactly as entered."""

    handle = create_handle_field()
    body_html = MarkupField(label=gettext_lazy("Content"), widget=MarkupArea(attrs={"data-editor": "html", "rows": 18}))
    redirect_old_url = create_redirect_field()

    def prepare(self) -> None:
        super().prepare()
        if "author" in self.fields:
            self.fields["author"].required = False
            self.fields["author"].help_text = gettext_lazy("Leave blank to use the shop's name.")


@admin.register(Page)
class PageAdmin(PreviewAdmin[Page]):
    form = PageForm
    menu = MenuItem("Content", "description", 18)
    search_terms = pgettext_lazy("search", "about us, faq, static page, website")
    intro = gettext_lazy("Pages with fixed content, such as “About us” or “Contact”.")
    empty_text = gettext_lazy("No pages yet.")
    inlines = (MetafieldInline,)
    list_display = ("title", "handle", "author", "visibility", "updated_at")
    mobile_hide_labels = ("handle", "author")
    list_filter = (VisibilityFilter,)
    search_fields = ("title__icontains", "handle__icontains")
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("title", "body_html")}),
        (gettext_lazy("Publishing"), {"classes": ("bo-aside",), "fields": ("visibility", "published_at", "author")}),
        (gettext_lazy("URL and template"), {"classes": ("bo-aside",), "fields": ("handle", "template_suffix")}),
    )
    _attributes = ("title", "body_html", "published_at", "author", "handle", "template_suffix")

    def storefront_path(self, instance: Page) -> str:
        return f"/pages/{instance.handle}"

    def get_fieldsets(self, request: HttpRequest, obj: Page | None = None) -> list[Fieldset]:
        return add_redirect_field(super().get_fieldsets(request, obj), request, obj)

    @display(description=gettext_lazy("Visibility"), label=VISIBILITY_COLORS)
    def visibility(self, page: Page) -> tuple[str, str]:
        return get_visibility(page)

    @extra_view("preview/", "content.view_page", "content.change_page", "content.add_page", post_only=True)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        return render_preview(request)

    def lock_row(self, instance: Page) -> None:
        """Lock the shop first, because a new handle can create a redirect."""
        lock_shop()
        super().lock_row(instance)

    def save_model(self, request: HttpRequest, obj: Page, form: PageForm, change: bool) -> None:
        attrs = {name: value for name, value in form.values_to_store.items() if name in self._attributes}
        actor, now = self.actor(request), timezone.now()
        if not change:
            obj.__dict__.update(pages.create_page(attrs, actor=actor, at=now).__dict__)
            return
        page = Page.objects.get(pk=obj.pk)
        old_path = self.storefront_path(page)
        pages.update_page(page, attrs, actor=actor, at=now)
        redirect_if_renamed(request, form, old_path, self.storefront_path(page), actor=actor, at=now)

    def delete_model(self, request: HttpRequest, obj: Page) -> None:
        pages.delete_page(obj, **self.event_kwargs(request))


class PolicyForm(PanelForm[Policy]):
    body = MarkupField(
        label=gettext_lazy("Content"),
        required=True,
        widget=MarkupArea(attrs={"data-editor": "html", "rows": 18}),
    )

    def prepare(self) -> None:
        existing = set(Policy.objects.values_list("handle", flat=True))
        free = [(value, label) for value, label in Policy.Handle.choices if value not in existing]
        self.set_choices("handle", [("", "---------"), *free])


@admin.register(Policy)
class PolicyAdmin(PreviewAdmin[Policy]):
    form = PolicyForm
    menu = MenuItem("Settings", "gavel", 25)
    search_terms = pgettext_lazy("search", "legal, terms and conditions, cancellation, withdrawal")
    intro = gettext_lazy("The legal texts of your shop, one of each type. Apps and the online store can read them.")
    empty_text = gettext_lazy("No policies yet.")
    preview_field = "id_body"
    list_display = ("type_name", "updated_at")
    ordering = ("handle",)
    fields = ("handle", "body")

    @display(description=gettext_lazy("Type"), ordering="handle")
    def type_name(self, policy: Policy) -> str:
        return str(policy)

    def get_readonly_fields(self, request: HttpRequest, obj: Policy | None = None) -> tuple[str, ...]:
        return ("handle",) if obj else ()

    def storefront_path(self, instance: Policy) -> str:
        return f"/policies/{instance.handle}"

    @extra_view("preview/", "content.view_policy", "content.change_policy", "content.add_policy", post_only=True)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        return render_preview(request)

    def save_model(self, request: HttpRequest, obj: Policy, form: PolicyForm, change: bool) -> None:
        body = form.cleaned_data["body"]
        if change:
            policies.update_policy(Policy.objects.get(pk=obj.pk), body=body, **self.event_kwargs(request))
            return
        handle = form.cleaned_data["handle"]
        policy = policies.create_policy(handle=handle, body=body, **self.event_kwargs(request))
        obj.__dict__.update(policy.__dict__)

    def delete_model(self, request: HttpRequest, obj: Policy) -> None:
        policies.delete_policy(obj, **self.event_kwargs(request))
