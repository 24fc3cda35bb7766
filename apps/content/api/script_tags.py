"""Serializer, filters and views for script tags. Each app can access only its own script tags."""

from django.db.models import QuerySet

from apps.content.domain.script_tags import create_script_tag, update_script_tag
from apps.content.models import ScriptTag
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_SECURE
from apps.core.rest.requests.deprecations import Deprecation
from apps.core.rest.resources.fields import ModelDerivedField, UrlField
from apps.core.rest.resources.filters import ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors


class ScriptTagSerializer(ResourceSerializer[ScriptTag]):
    src = UrlField(max_length=2048, missing=(BLANK, NOT_SECURE))
    event = ModelDerivedField(
        required=True,
        missing=(BLANK, INVALID),
        error_messages={"invalid_choice": INVALID, "null": INVALID},
    )
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    display_scope = ModelDerivedField()
    cache = ModelDerivedField()

    def validate_across_fields(self, attrs: Attrs, instance: ScriptTag | None, errors: Errors) -> None:
        """Require an HTTPS URL, because customers' browsers load the script."""
        src = attrs.get("src")
        if src is not None and not src.startswith("https://"):
            errors["src"] = [NOT_SECURE]


class ScriptTagFilter(ResourceFilter):
    src = TextFilter("src")


class ScriptTagViewSet(ShopViewSet[ScriptTag]):
    scope = "script_tags"
    serializer_class = ScriptTagSerializer
    filterset_class = ScriptTagFilter
    singular = "script_tag"
    version_columns = ("version",)
    deprecated = {"count": Deprecation("script-tag-count")}

    def get_queryset(self) -> QuerySet[ScriptTag]:
        return ScriptTag.objects.filter(app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> ScriptTag:
        return create_script_tag(self.access.installation, attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: ScriptTag, attrs: Attrs) -> None:
        update_script_tag(instance, attrs, actor=self.actor, at=self.at)
