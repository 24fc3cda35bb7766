from django.forms.renderers import BaseRenderer
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.admin.staff_request import Context
from apps.core.admin.theme import ThemedFileInput


class ImageInput(ThemedFileInput):
    """A file input for an image, with the thumbnail of the current image."""

    thumbnail: SafeString | None = None

    def render(
        self, name: str, value: object, attrs: Context | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        field = super().render(name, value, attrs, renderer)
        return format_html('<div class="bo-image-input">{}{}</div>', self.thumbnail, field) if self.thumbnail else field
