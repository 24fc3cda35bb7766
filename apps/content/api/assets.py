from base64 import b64encode

from django.db import transaction
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.content.domain import assets, blob_store
from apps.content.domain.media_types import get_media_type
from apps.content.domain.public_urls import get_asset_url
from apps.content.domain.theme_files.contents import is_text_file
from apps.content.models import Asset, Theme
from apps.core.i18n.error_messages import PARAMETER_MISSING
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.authentication import SAFE_METHODS, ScopeMissing
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import ComputedField, DateTimeField, ReadOnlyColumn
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.models import App

KEY = "asset[key]"
PROTECTED_SCOPE = "write_theme_code"


def _public_url(context: RenderContext, key: str, theme_id: int, md5: str) -> str | None:
    return get_asset_url(context.shop, theme_id, key, md5)


class AssetSerializer(ResourceSerializer[Asset]):
    id = None
    key = ReadOnlyColumn()
    public_url = ComputedField(_public_url, "key", "theme_id", "content__md5", schema={"type": ["string", "null"]})
    created_at = DateTimeField(read_only=True)
    updated_at = DateTimeField(read_only=True)
    content_type = ComputedField(lambda _context, key: get_media_type(key), "key")
    size = ReadOnlyColumn("content__size")
    checksum = ReadOnlyColumn("content__md5")
    theme_id = ReadOnlyColumn()


class AssetViewSet(ShopViewSet[Asset]):
    """Views for ``/themes/{theme_id}/assets``. The parameter ``asset[key]`` selects a single file."""

    scope = "themes"
    serializer_class = AssetSerializer
    singular = "asset"
    parents = {"theme_id": Theme}
    takes_uploads = True
    query_parameters = {"list_files": (KEY,), "delete_file": (KEY,)}
    request_bodies = {
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
    responses = {
        # With a key in the query, the response contains a single file.
        "list_files": {"oneOf": [{"type": "object", "required": [name]} for name in ("assets", "asset")]},
        "put_file": ONE,
        "delete_file": {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}},
    }

    stored: assets.StoredAsset

    def check_permissions(self, request: Request) -> None:
        """Require an additional scope from public apps that change files."""
        super().check_permissions(request)
        is_public = self.access.installation.app.distribution == App.Distribution.PUBLIC
        if is_public and request.method not in SAFE_METHODS and PROTECTED_SCOPE not in self.access.granted_scopes:
            raise ScopeMissing(PROTECTED_SCOPE)

    def load_parents(self) -> None:
        theme = Theme.objects.filter(pk=self.kwargs["theme_id"]).first()
        if theme is None:
            raise Http404
        self.theme = theme

    def list_files(self, request: Request, **_: int) -> HttpResponse:
        """List all files without their contents, or return a single file with its content."""
        if KEY in self.query:
            return self._single(self.query[KEY])
        etag = self._build_etag(self.theme.pk, self.theme.version)
        if self._is_cached_by_client(etag):
            return self._not_modified(etag)
        return self.json_response(
            {"assets": self.get_read_plan().read_queryset(self.get_queryset().order_by("key"), self.context)}, ETag=etag
        )

    def _single(self, key: str) -> HttpResponse:
        asset = assets.get_asset(self.theme, key)
        if asset is None:
            raise Http404
        data = self.get_read_plan().read_one(asset.pk, self.context)
        requested_fields = {word.strip() for word in self.query.get("fields", "").split(",")} - {""}
        if not requested_fields or requested_fields & {"value", "attachment"}:
            name, value = encode_content(asset)
            if not requested_fields or name in requested_fields:
                data[name] = value
        return self.json_response({"asset": data})

    def prepare_write(self) -> None:
        """Store the content from the request body: text, an attachment, a download or a copy of another file."""
        body = self.unwrap_body("asset")
        if not self.theme.previewable:
            raise assets.AssetRefused("The theme's files are not installed yet")
        self.stored = assets.store_asset_content(self.theme, body)

    def put_file(self, request: Request, **_: int) -> HttpResponse:
        """Create or replace a file."""
        with transaction.atomic():
            key, content, note = self.stored
            asset = assets.save_asset(self.theme, key, content, actor=self.actor, at=self.at, note=note)
            return self.render_object(asset.pk)

    def delete_file(self, request: Request, **_: int) -> HttpResponse:
        """Delete a file."""
        key = self.query.get(KEY)
        if not key:
            raise BadRequest({KEY: PARAMETER_MISSING})
        try:
            assets.delete_asset(self.theme, key, actor=self.actor, at=self.at)
        except assets.AssetNotFound:
            raise Http404 from None
        return self.json_response({"message": f"{key} was successfully deleted"})


def encode_content(asset: Asset) -> tuple[str, str]:
    """Return a file's content for the REST API, as a key and a value.

    The key is ``value`` for text, and ``attachment`` for all other content, which is encoded as Base64.
    """
    data = blob_store.read_blob(asset.content)
    if is_text_file(asset.key):
        try:
            return "value", data.decode()
        except UnicodeDecodeError:
            pass
    return "attachment", b64encode(data).decode()
