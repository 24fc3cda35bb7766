from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.core.admin.model_admin.base import Row, ShopOwnedAdmin
from apps.core.admin.staff_request import Context
from apps.core.i18n.messages import translate
from apps.core.sanitizing import find_html_error, sanitize_html

# The preview must not run scripts or load anything from other hosts. The sandbox also gives the preview a separate
# origin.
PREVIEW_POLICY = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; sandbox"


def render_preview(request: HttpRequest) -> HttpResponse:
    """Return a page with the submitted ``html`` as visitors see it, without scripts, forms and styles."""
    markup = request.POST.get("html", "")
    if (error := find_html_error(markup)) is not None:
        return HttpResponse(
            _("The text {refusal}.").format(refusal=translate(error)),
            status=422,
            content_type="text/plain; charset=utf-8",
        )
    page = render_to_string("panel/articles/preview.html", {"markup": SafeString(sanitize_html(markup))})
    return HttpResponse(page, headers={"Content-Security-Policy": PREVIEW_POLICY, "X-Frame-Options": "SAMEORIGIN"})


class PreviewAdmin(ShopOwnedAdmin[Row]):
    """A model admin with a preview of one HTML field. Subclasses define ``preview_view``, with their permissions."""

    change_form_template = "panel/articles/preview_form.html"
    preview_field = "id_body_html"

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        preview = {"preview_url": self.url("preview"), "preview_field": self.preview_field}
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), **preview})
