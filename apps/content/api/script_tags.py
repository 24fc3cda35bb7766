"""Script tags over REST: each app sees and changes its own only."""

from django.db.models import QuerySet

from apps.api.requests.deprecations import Deprecation
from apps.api.resources.fields import FromModel, UrlField
from apps.api.resources.filters import ResourceFilter, TextFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Errors
from apps.api.viewsets import ShopViewSet
from apps.content.domain.script_tags import create_script_tag
from apps.content.models import ScriptTag
from apps.ground.phrases import BLANK, INVALID, NOT_SECURE


class ScriptTagSerializer(ResourceSerializer[ScriptTag]):
    """A script tag as the interface shows it."""

    src = UrlField(max_length=2048, missing=(BLANK, NOT_SECURE))
    event = FromModel(
        required=True,
        missing=(BLANK, INVALID),
        error_messages={"invalid_choice": INVALID, "null": INVALID},
    )
    created_at = FromModel()
    updated_at = FromModel()
    display_scope = FromModel()
    cache = FromModel()

    class Meta:
        model = ScriptTag

    def check(self, attrs: Attrs, instance: ScriptTag | None, errors: Errors) -> None:
        """The source is fetched by shoppers' browsers, over TLS only."""
        src = attrs.get("src")
        if src is not None and not src.startswith("https://"):
            errors["src"] = [NOT_SECURE]


class ScriptTagFilter(ResourceFilter):
    """How a list of script tags is narrowed."""

    src = TextFilter("src")


class ScriptTagViewSet(ShopViewSet[ScriptTag]):
    """``/script_tags``: the calling app's tags."""

    scope = "script_tags"
    model = ScriptTag
    serializer_class = ScriptTagSerializer
    filterset_class = ScriptTagFilter
    singular = "script_tag"
    plural = "script_tags"
    versions = ("version",)
    deprecated = {"count": Deprecation("script-tag-count")}

    def get_queryset(self) -> QuerySet[ScriptTag]:
        """Another app's tags do not exist for this one."""
        return ScriptTag.objects.filter(app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> ScriptTag:
        """The tag belongs to the calling app."""
        return create_script_tag(self.access.installation, attrs, actor=self.actor, at=self.at)
