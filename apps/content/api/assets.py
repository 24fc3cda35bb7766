"""Theme files over REST."""

from base64 import b64encode

from django.db import transaction
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.errors import BadRequest
from apps.api.requests.access import SAFE, ScopeMissing
from apps.api.requests.views import ONE
from apps.api.resources.fields import Column, Computed, DateTimeField
from apps.api.resources.serializers import ResourceSerializer
from apps.api.viewsets import ShopViewSet
from apps.content.domain import assets, contents
from apps.content.domain.addresses import asset_url
from apps.content.domain.media_types import media_type
from apps.content.models import Asset, FileContent, Theme
from apps.ground.phrases import PARAMETER_MISSING
from apps.shops.models import App

KEY = "asset[key]"
PROTECTED_SCOPE = "write_theme_code"


def _public_url(context: Context, key: str, theme_id: int, md5: str) -> str | None:
    return asset_url(context.shop, theme_id, key, md5)


class AssetSerializer(ResourceSerializer[Asset]):
    """A theme file as the interface shows it, without its content."""

    id = None
    key = Column()
    public_url = Computed(_public_url, "key", "theme_id", "content__md5", schema={"type": ["string", "null"]})
    created_at = DateTimeField(read_only=True)
    updated_at = DateTimeField(read_only=True)
    content_type = Computed(lambda _context, key: media_type(key), "key")
    size = Column("content__size")
    checksum = Column("content__md5")
    theme_id = Column()

    class Meta:
        model = Asset


class AssetViewSet(ShopViewSet[Asset]):
    """``/themes/{theme_id}/assets``; a single file is named by the parameter ``asset[key]``."""

    scope = "themes"
    model = Asset
    serializer_class = AssetSerializer
    singular = "asset"
    plural = "assets"
    parents = {"theme_id": Theme}
    takes_uploads = True
    bodies = {
        "put_file": {
            "type": "object",
            "required": ["asset"],
            "properties": {
                "asset": {
                    "type": "object",
                    "required": ["key"],
                    "properties": {
                        key: {"type": "string"} for key in ("key", "value", "attachment", "src", "source_key")
                    },
                }
            },
        }
    }
    answers = {
        # One file, where the query names it.
        "list_files": {"oneOf": [{"type": "object", "required": [name]} for name in ("assets", "asset")]},
        "put_file": ONE,
        "delete_file": {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}},
    }

    key: str
    content: FileContent

    def check_permissions(self, request: Request) -> None:
        """Marketplace apps need a second scope to write."""
        super().check_permissions(request)
        is_public = self.access.installation.app.distribution == App.Distribution.PUBLIC
        if is_public and request.method not in SAFE and PROTECTED_SCOPE not in self.access.granted:
            raise ScopeMissing(PROTECTED_SCOPE)

    def open(self) -> None:
        """Load the theme that the path names."""
        theme = Theme.objects.filter(pk=self.kwargs["theme_id"]).first()
        if theme is None:
            raise Http404
        self.theme = theme

    def list_files(self, request: Request, **_: int) -> HttpResponse:
        """List the files without their contents, or read one with its content."""
        if KEY in self.query:
            return self._single(self.query[KEY])
        etag = self._tag(self.theme.pk, self.theme.version)
        if self._is_known(etag):
            return self._not_modified(etag)
        return self.json({"assets": self.plan().read(self.get_queryset().order_by("key"), self.context)}, ETag=etag)

    def _single(self, key: str) -> HttpResponse:
        asset = self.get_queryset().select_related("content").filter(key=key).first()
        if asset is None:
            raise Http404
        shown = self.plan().read_one(asset.pk, self.context)
        asked = {word.strip() for word in self.query.get("fields", "").split(",")} - {""}
        if not asked or asked & {"value", "attachment"}:
            name, value = content_of(asset)
            if not asked or name in asked:
                shown[name] = value
        return self.json({"asset": shown})

    def prepare(self) -> None:
        """Fetch and store the content that the body brings."""
        body = self.unwrapped("asset")
        if not self.theme.previewable:
            raise assets.AssetRefused("the theme's files are not in place yet")
        self.key, self.content = assets.prepare(self.theme, body)

    def put_file(self, request: Request, **_: int) -> HttpResponse:
        """Create or replace a file."""
        with transaction.atomic():
            asset = assets.save_asset(self.theme, self.key, self.content, actor=self.actor, at=self.at)
            return self.object_response(asset.pk)

    def delete_file(self, request: Request, **_: int) -> HttpResponse:
        """Delete a file."""
        key = self.query.get(KEY)
        if not key:
            raise BadRequest({KEY: PARAMETER_MISSING})
        try:
            assets.delete_asset(self.theme, key, actor=self.actor, at=self.at)
        except assets.AssetNotFound:
            raise Http404 from None
        return self.json({"message": f"{key} was successfully deleted"})


def content_of(asset: Asset) -> tuple[str, str]:
    """A file's content as the interface shows it: ``value`` for text, Base64 in ``attachment`` for the rest."""
    data = contents.read(asset.content)
    if assets.is_text(asset.key):
        try:
            return "value", data.decode()
        except UnicodeDecodeError:
            pass
    return "attachment", b64encode(data).decode()
