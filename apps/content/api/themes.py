from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.content.domain import themes
from apps.content.models import Theme
from apps.core.http.ssrf_guard import UrlRefused, check_url
from apps.core.i18n.error_messages import NOT_IN_LIST
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.requests.views import BARE
from apps.core.rest.resources.fields import ConstantField, ModelDerivedField, TextField, global_id_field
from apps.core.rest.resources.filters import ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors

ROLES = ("main", "unpublished")


class ThemeSerializer(ResourceSerializer[Theme]):
    name = ModelDerivedField()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    role = ModelDerivedField()
    theme_store_id = ConstantField(None)
    previewable = ModelDerivedField()
    processing = ModelDerivedField()
    src = TextField(max_length=4096, write_only=True, required=False, allow_blank=True, allow_null=True)
    admin_graphql_api_id = global_id_field("Theme")

    def validate_across_fields(self, attrs: Attrs, instance: Theme | None, errors: Errors) -> None:
        """Check that the role is one that apps may set, and that downloads from the source URL are allowed."""
        role = attrs.get("role")
        if role is not None and role not in ROLES and (instance is None or role != instance.role):
            errors["role"] = [NOT_IN_LIST]
        src = attrs.pop("src", None)
        if instance is None:
            attrs["src"] = src or ""
            if src:
                try:
                    check_url(src, schemes=("http", "https"))
                except (UrlRefused, ValidationError) as error:
                    errors["src"] = [str(error)]


class ThemeFilter(ResourceFilter):
    name = TextFilter("name")
    role = TextFilter("role")


class ThemeViewSet(ShopViewSet[Theme]):
    scope = "themes"
    serializer_class = ThemeSerializer
    filterset_class = ThemeFilter
    singular = "theme"
    order = ("name", "id")
    version_columns = ("version",)
    responses = {"destroy": BARE}

    def perform_create(self, attrs: Attrs) -> Theme:
        attrs = {name: value for name, value in attrs.items() if name in {"name", "role", "src"}}
        return themes.create_theme(**attrs, actor=self.actor, at=self.at)

    def lock_instance(self, instance: Theme) -> None:
        """Lock the rows in the same order as publishing does: first the shop, then the themes."""
        themes.lock_theme(instance)
        super().lock_instance(instance)

    def perform_update(self, instance: Theme, attrs: Attrs) -> None:
        """Rename or publish the theme, or both."""
        role = attrs.get("role")
        # Publish before renaming: publishing locks the shop before the themes, and the opposite order could deadlock.
        if role == Theme.Role.MAIN:
            themes.publish_theme(instance, actor=self.actor, at=self.at)
        elif role is not None and role != instance.role:
            raise Unprocessable({"role": ["cannot be removed from the published theme; publish another theme instead"]})
        if "name" in attrs:
            themes.rename_theme(instance, attrs["name"], actor=self.actor, at=self.at)

    def destroy(self, request: Request, **_: int) -> HttpResponse:
        """Delete the theme, and return its data without the usual enclosing key."""
        with transaction.atomic():
            instance = self.get_object()
            themes_data = list(self.get_read_plan().read_ids([instance.pk], self.context).values())
            themes.delete_theme(instance, actor=self.actor, at=self.at)
        return self.json_response(themes_data[0])
