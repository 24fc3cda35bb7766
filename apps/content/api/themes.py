"""Themes over REST."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.api.errors import Unprocessable
from apps.api.requests.views import BARE
from apps.api.resources.fields import Constant, FromModel, GlobalId, TextField
from apps.api.resources.filters import ResourceFilter, TextFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Errors
from apps.api.viewsets import ShopViewSet
from apps.content.domain import themes
from apps.content.models import Theme
from apps.ground.phrases import NOT_IN_LIST
from apps.outgoing.addresses import UrlRefused, vet_url

ROLES = ("main", "unpublished")


class ThemeSerializer(ResourceSerializer[Theme]):
    """A theme as the interface shows it."""

    name = FromModel()
    created_at = FromModel()
    updated_at = FromModel()
    role = FromModel()
    theme_store_id = Constant(None)
    previewable = FromModel()
    processing = FromModel()
    src = TextField(max_length=4096, write_only=True, required=False, allow_blank=True, allow_null=True)
    admin_graphql_api_id = GlobalId("Theme")

    class Meta:
        model = Theme

    def check(self, attrs: Attrs, instance: Theme | None, errors: Errors) -> None:
        """Apps make and publish themes of two roles only; the source must be a URL that may be fetched."""
        role = attrs.get("role")
        if role is not None and role not in ROLES and (instance is None or role != instance.role):
            errors["role"] = [NOT_IN_LIST]
        src = attrs.pop("src", None)
        if instance is None:
            attrs["src"] = src or ""
            if src:
                try:
                    vet_url(src, schemes=("http", "https"))
                except (UrlRefused, ValidationError) as error:
                    errors["src"] = [str(error)]


class ThemeFilter(ResourceFilter):
    """How a list of themes is narrowed."""

    name = TextFilter("name")
    role = TextFilter("role")


class ThemeViewSet(ShopViewSet[Theme]):
    """``/themes``."""

    scope = "themes"
    model = Theme
    serializer_class = ThemeSerializer
    filterset_class = ThemeFilter
    singular = "theme"
    plural = "themes"
    order = ("name", "id")
    versions = ("version",)
    answers = {"destroy": BARE}

    def perform_create(self, attrs: Attrs) -> Theme:
        """Make the theme; a job copies its files."""
        attrs = {name: value for name, value in attrs.items() if name in {"name", "role", "src"}}
        return themes.create_theme(**attrs, actor=self.actor, at=self.at)

    def hold(self, instance: Theme) -> None:
        """Whoever publishes holds more than the theme."""
        themes.hold(instance)
        super().hold(instance)

    def perform_update(self, instance: Theme, attrs: Attrs) -> None:
        """Rename the theme, publish it, or both."""
        role = attrs.get("role")
        # First, as publishing locks the shop and then rows of themes; renaming before would lock them the other way.
        if role == Theme.Role.MAIN:
            themes.publish(instance, actor=self.actor, at=self.at)
        elif role is not None and role != instance.role:
            raise Unprocessable({"role": ["cannot be taken from the published theme; publish another one"]})
        if "name" in attrs:
            themes.rename(instance, attrs["name"], actor=self.actor, at=self.at)

    def destroy(self, request: Request, **_: int) -> HttpResponse:
        """Delete the theme and answer it, unwrapped."""
        with transaction.atomic():
            instance = self.get_object()
            shown = list(self.plan().read_ids([instance.pk], self.context).values())
            themes.delete_theme(instance, actor=self.actor, at=self.at)
        return self.json(shown[0])
