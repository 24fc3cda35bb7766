"""The settings page for documents, with the upload of the logo."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import as_sentence
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view
from apps.core.admin.permissions import require_permission
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import translate
from apps.core.tenancy.models import Shop
from apps.documents.domain.settings import MAX_LOGO_BYTES, build_logo, change_settings, get_document_settings
from apps.documents.models import DocumentLogo, DocumentSettings

CHANGE = "documents.change_documentsettings"
_SAVED = ("language", "footer", "invoice_prefix", "credit_note_prefix")


class DocumentSettingsForm(forms.ModelForm[DocumentSettings]):
    class Meta:
        model = DocumentSettings
        fields = _SAVED

    issues_automatically = forms.BooleanField(
        label=gettext_lazy("Issue invoices automatically when orders are paid"),
        required=False,
        help_text=gettext_lazy("Only for orders that are placed from now on. Test orders get no invoices."),
    )
    new_logo = forms.FileField(
        label=gettext_lazy("Logo"),
        required=False,
        help_text=format_lazy(
            gettext_lazy("PNG, JPEG, GIF, WebP or AVIF, up to {size}. Issued documents keep their logo."),
            size=format_bytes(MAX_LOGO_BYTES),
        ),
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/gif,image/webp,image/avif"}),
    )
    removes_logo = forms.BooleanField(label=gettext_lazy("Remove the logo"), required=False)

    def __init__(self, data: Any, files: Any, *, row: DocumentSettings, shop: Shop) -> None:
        super().__init__(data, files, instance=row, initial={"issues_automatically": shop.invoices_from is not None})
        for name in ("language", "invoice_prefix", "credit_note_prefix", "footer"):
            self.fields[name].widget.attrs["class"] = "bo-input"
        self.fields["footer"].widget.attrs["rows"] = 4
        if row.logo_id is None:
            del self.fields["removes_logo"]
        self.unsaved_logo: DocumentLogo | None = None

    def clean_footer(self) -> str:
        footer: str = self.cleaned_data["footer"].strip()
        if len(footer.splitlines()) > 8:
            raise forms.ValidationError(_("Enter at most 8 lines."))
        return footer

    def clean_new_logo(self) -> None:
        file = self.cleaned_data["new_logo"]
        if file is None:
            return
        if file.size > MAX_LOGO_BYTES:
            raise forms.ValidationError(
                _("This image is larger than {size}. Choose a smaller image.").format(size=format_bytes(MAX_LOGO_BYTES))
            )
        try:
            self.unsaved_logo = build_logo(file.read())
        except DomainError as error:
            messages = [as_sentence(translate(text)) for texts in error.errors.values() for text in texts]
            raise forms.ValidationError(messages) from None

    def get_values(self) -> dict[str, object]:
        """Return the columns to save."""
        values: dict[str, object] = {name: self.cleaned_data[name] for name in _SAVED}
        if self.unsaved_logo is not None:
            values["logo"] = self.unsaved_logo
        elif self.cleaned_data.get("removes_logo"):
            values["logo"] = None
        return values


@admin.register(DocumentSettings)
class DocumentSettingsAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[DocumentSettings]):
    """The settings of the current shop, which has one row or, before the first change, none."""

    menu = MenuItem("Settings", "receipt_long", 27, gettext_lazy("Invoices and documents"))
    search_terms = pgettext_lazy(
        "search", "invoice, credit note, packing slip, pdf, logo, footer, vat number, numbering, prefix"
    )

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.has_perm(CHANGE)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the form, or to the page that shows the settings to staff who may not change them."""
        require_permission(request, "documents.view_documentsettings", CHANGE)
        if self.has_change_permission(request):
            return HttpResponseRedirect(self.url("edit"))
        saved = DocumentSettings.objects.first()
        if saved is None:
            self.message_user(request, _("The settings of invoices and documents have not been changed yet."))
            return HttpResponseRedirect(reverse("admin:index"))
        return HttpResponseRedirect(self.url("change", saved.pk))

    @extra_view("edit/", CHANGE, keyed=True)
    def edit_view(self, request: HttpRequest) -> HttpResponse:
        row = get_document_settings()
        shop = Shop.objects.get(pk=self.shop(request).pk)
        form = DocumentSettingsForm(get_post_data(request), request.FILES or None, row=row, shop=shop)
        if request.method == "POST" and form.is_valid():
            try:
                automatic = form.cleaned_data["issues_automatically"]
                change_settings(form.get_values(), issues_automatically=automatic, **self.event_kwargs(request))
            except DomainError as error:
                for name, texts in error.errors.items():
                    form.add_error(name if name in form.fields else None, [translate(text) for text in texts])
            else:
                self.message_user(request, _("Settings saved."))
                return HttpResponseRedirect(self.url("edit"))
        logo = get_document_settings().logo
        return self.page(
            request,
            "panel/documents/settings.html",
            _("Invoices and documents"),
            form=form,
            logo_url=self.url("logo", logo.pk) if logo else "",
        )

    @extra_view("logo/<int:logo_id>/", CHANGE, name="logo")
    def logo_view(self, request: HttpRequest, logo_id: int) -> HttpResponse:
        """Return the image of a logo."""
        logo = DocumentLogo.objects.filter(pk=logo_id).first()
        if logo is None:
            raise Http404(_("There is no logo with the ID {id}.").format(id=logo_id))
        return HttpResponse(bytes(logo.content), content_type="image/png")
