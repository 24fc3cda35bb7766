"""Panel pages for the theme editor: the file tree, the editor for one file, versions and search."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Case, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.content.domain import assets, blob_store
from apps.content.domain.media_types import get_media_type
from apps.content.domain.public_urls import get_asset_url, get_local_path
from apps.content.domain.theme_archive import DEFAULT_LIMITS
from apps.content.domain.theme_files.contents import is_text_file
from apps.content.domain.theme_files.keys import LAYOUT, normalize_key
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.html_fields import restore_line_endings
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.palette.search import ROWS_PER_MODEL, search_functions
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import SearchResult
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import larger_than
from apps.core.i18n.messages import translate
from apps.core.media.storage import StorageFailed
from apps.core.tenancy.actor_names import get_actor_names
from apps.core.tenancy.models import Shop

VIEW_ASSET, CHANGE_ASSET = "content.view_asset", "content.change_asset"
SEARCHED_FILES, SHOWN_HITS, LONGEST_LINE = 2000, 200, 200
_LANGUAGES = {
    ".css": "css",
    ".html": "html",
    ".js": "javascript",
    ".json": "json",
    ".liquid": "liquid",
    ".mjs": "javascript",
    ".scss": "css",
    ".svg": "html",
    ".xml": "html",
}
_IMAGE_SUFFIXES = (".png", ".gif", ".jpg", ".jpeg", ".webp", ".avif", ".svg", ".ico")
# The preview of a file shows at most this many characters. The editor and the download have the complete file.
MAX_PREVIEW = 64 * 1024


@dataclass(frozen=True, slots=True)
class SearchHit:
    key: str
    line: int
    text: str


def get_editor_language(key: str) -> str:
    name = key.lower().removesuffix(".liquid") if key.lower().endswith((".css.liquid", ".js.liquid")) else key.lower()
    return _LANGUAGES.get(name[name.rfind(".") :], "")


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a theme file: None for binary files, and for ``lost`` files, which the storage cannot read."""

    text: str | None = None
    lost: bool = False


def load_text(key: str, content: FileContent) -> FileText:
    if not is_text_file(key):
        return FileText()
    try:
        return FileText(blob_store.read_blob(content).decode())
    except UnicodeDecodeError:
        return FileText()
    except StorageFailed:
        return FileText(lost=True)


def _read_current(asset: Asset | None) -> FileText:
    return load_text(asset.key, asset.content) if asset else FileText()


def search_theme(theme: Theme, term: str) -> list[SearchHit]:
    folded_term = term.casefold()
    hits: list[SearchHit] = []
    for asset in Asset.objects.select_related("content").filter(theme=theme).order_by("key")[:SEARCHED_FILES]:
        text = load_text(asset.key, asset.content).text
        for number, line in enumerate(text.splitlines() if text else (), start=1):
            if folded_term in line.casefold():
                hits.append(SearchHit(asset.key, number, line.strip()[:LONGEST_LINE]))
                if len(hits) == SHOWN_HITS:
                    return hits
    return hits


@search_functions.add
def find_theme_files(request: HttpRequest, term: str) -> Iterable[SearchResult]:
    """Yield theme files with a matching key for the panel-wide search, starting with the published theme."""
    if not (has_permission(request, VIEW_ASSET) or has_permission(request, CHANGE_ASSET)):
        return
    published_first = Case(When(theme__role=Theme.Role.MAIN, then=0), default=1)
    matches = (
        Asset.rows().filter(key__icontains=term).select_related("theme").order_by(published_first, "theme_id", "key")
    )
    for asset in matches[:ROWS_PER_MODEL]:
        yield SearchResult(
            title=asset.key,
            description=_("File in {name}").format(name=asset.theme.name),
            link=_get_editor_url(asset.theme_id, asset.key),
            icon="code",
        )


def _get_editor_url(theme_id: int, key: str = "") -> str:
    return reverse("admin:content_theme_code", args=(theme_id,)) + (f"?{urlencode({'key': key})}" if key else "")


class ThemeEditorPages(ShopOwnedAdmin[Theme]):
    @row_view("code/", VIEW_ASSET, CHANGE_ASSET)
    def code_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        """Show the file tree and the file that the query string selects. On POST, save the file."""
        if request.method == "POST":
            require_permission(request, CHANGE_ASSET)
            return self._save(request, theme)
        key, term = normalize_key(request.GET.get("key", "")), request.GET.get("q", "").strip()
        return self._show(request, theme, key, hits=search_theme(theme, term) if term else None, term=term)

    def _save(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        """Save the submitted text or the uploaded file, unless someone else has changed the theme file."""
        key, expected = normalize_key(request.POST.get("key", "").strip()), request.POST.get("expected", "")
        upload = request.FILES.get("file")
        current = assets.get_asset(theme, key)
        typed = request.POST.get("text", "")
        try:
            assets.check_asset_key(key)
            if upload is not None and upload.size is not None and upload.size > DEFAULT_LIMITS.binary_bytes:
                raise assets.AssetRefused(
                    _("The file {key} is {size}").format(
                        key=key, size=translate(larger_than(DEFAULT_LIMITS.binary_bytes))
                    )
                )
            if upload is None and "text" not in request.POST and current is not None and expected:
                raise assets.AssetRefused(_("Choose a file to replace {key}").format(key=key))
            before = _read_current(current).text or ""
            data = upload.read() if upload is not None else restore_line_endings(before, typed).encode()
            data, note = assets.check_asset_content(key, data)
            content = blob_store.store_blob(data)
            assets.save_asset(theme, key, content, **self.event_kwargs(request), expected=expected, note=note)
        except assets.EditConflict:
            if not expected:
                return self._show(request, theme, key, error=_("The file {key} already exists.").format(key=key))
            return self._show(request, theme, key, typed=None if upload else typed, conflict=True)
        except Theme.DoesNotExist:
            raise Http404 from None
        except DomainError as error:
            return self._show(request, theme, key, typed=None if upload else typed, error=format_errors(error))
        self.message_user(request, _("Saved {key}.").format(key=key), messages.SUCCESS)
        if note is not None:
            self.message_user(request, f"{note.localize()}.", messages.WARNING)
        return HttpResponseRedirect(_get_editor_url(theme.pk, key))

    def _show(
        self,
        request: HttpRequest,
        theme: Theme,
        key: str,
        *,
        typed: str | None = None,
        conflict: bool = False,
        error: str = "",
        **context: object,
    ) -> HttpResponse:
        asset = assets.get_asset(theme, key)
        history = _get_history_context(theme, key, asset)
        may_change = has_permission(request, CHANGE_ASSET) and theme.previewable
        response = self.page(
            request,
            "panel/themes/editor.html",
            _("Theme code: {theme}").format(theme=theme),
            original=theme,
            key=key,
            asset=asset,
            # Customers would see the errors, so warn before invalid Liquid is saved in the published theme.
            warns=may_change and theme.role == Theme.Role.MAIN and get_editor_language(key) == "liquid",
            missing=bool(key) and asset is None and not error and not conflict,
            conflict=conflict,
            refusal=error,
            may_change=may_change,
            **_get_tree_context(theme),
            **_get_content_context(theme, key, asset, submitted=typed, conflict=conflict),
            **history,
            **context,
        )
        unknown = bool(key) and asset is None and not history["versions"]
        response.status_code = 409 if conflict else 422 if error else 404 if unknown else 200
        return response

    @row_view("code/preview/", VIEW_ASSET, CHANGE_ASSET, name="preview")
    def preview_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        """Show a file without the editor: an image, the beginning of a text, or why the file can't be shown."""
        key = normalize_key(request.GET.get("key", ""))
        if not key:
            return HttpResponseRedirect(_get_editor_url(theme.pk))
        asset = assets.get_asset(theme, key)
        if asset is None:
            raise Http404(_("The theme has no file named {key}.").format(key=key))
        picture, saved = get_image_path(theme.shop, asset), _read_current(asset)
        return self.page(
            request,
            "panel/themes/preview.html",
            _("Preview of {key}").format(key=key),
            original=theme,
            asset=asset,
            picture=picture,
            text=None if saved.text is None else saved.text[:MAX_PREVIEW],
            is_cut=saved.text is not None and len(saved.text) > MAX_PREVIEW,
            lost=saved.lost,
            content_type=get_media_type(key),
            back=_get_editor_url(theme.pk, key),
        )

    @row_view("code/delete/", CHANGE_ASSET, post_only=True)
    def delete_file_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        key = request.POST.get("key", "")
        try:
            assets.delete_asset(theme, key, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            self.message_user(
                request,
                _("{key} deleted. You can restore it from an earlier version.").format(key=key),
                messages.SUCCESS,
            )
        return HttpResponseRedirect(_get_editor_url(theme.pk, key))

    @row_view("code/versions/<int:version_id>/", VIEW_ASSET, CHANGE_ASSET)
    def version_view(self, request: HttpRequest, theme: Theme, version_id: int) -> HttpResponse:
        """Show what restoring a version would change. On POST, restore the version."""
        version = AssetVersion.objects.select_related("content").filter(theme=theme, pk=version_id).first()
        if version is None:
            return HttpResponseRedirect(_get_editor_url(theme.pk))
        if request.method == "POST":
            require_permission(request, CHANGE_ASSET)
            try:
                assets.restore_asset_version(version, **self.event_kwargs(request))
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
            else:
                self.message_user(request, _("Restored {key}.").format(key=version.key), messages.SUCCESS)
            return HttpResponseRedirect(_get_editor_url(theme.pk, version.key))
        current = assets.get_asset(theme, version.key)
        earlier = load_text(version.key, version.content)
        return self.page(
            request,
            "panel/themes/version.html",
            f"{version.key}, {version.saved_at:%Y-%m-%d %H:%M}",
            original=theme,
            version=version,
            who=get_actor_names([version.actor])[version.actor],
            back=_get_editor_url(theme.pk, version.key),
            current=_read_current(current).text or "",
            earlier=earlier.text,
            lost=earlier.lost,
            language=get_editor_language(version.key),
            may_change=has_permission(request, CHANGE_ASSET),
        )


def _get_tree_context(theme: Theme) -> Context:
    files = Asset.objects.filter(theme=theme)
    keys = list(files.order_by("key").values_list("key", flat=True))
    deleted_versions = AssetVersion.objects.filter(theme=theme).exclude(key__in=keys)
    return {
        "tree": [(folder, list(group)) for folder, group in groupby(keys, key=lambda path: path.split("/")[0])],
        "deleted": deleted_versions.order_by("key").values_list("key", flat=True).distinct(),
    }


def _get_content_context(
    theme: Theme, key: str, asset: Asset | None, *, submitted: str | None, conflict: bool
) -> Context:
    saved = _read_current(asset)
    return {
        "lost": saved.lost,
        "is_text": is_text_file(key) if key else False,
        "text": saved.text if submitted is None else submitted,
        "theirs": saved.text if conflict else None,
        "language": get_editor_language(key),
        "content_type": get_media_type(key) if key else "",
        "picture": get_image_path(theme.shop, asset) if asset else "",
        "deletable": asset is not None and key != LAYOUT,
    }


def _get_history_context(theme: Theme, key: str, asset: Asset | None) -> Context:
    versions = list(AssetVersion.objects.filter(theme=theme, key=key).order_by("-id")) if key else []
    names = get_actor_names([*(version.actor for version in versions), *([asset.actor] if asset else [])])
    return {
        "versions": [(version, names[version.actor]) for version in versions],
        "saved_by": names[asset.actor] if asset else "",
    }


def get_image_path(shop: Shop, asset: Asset) -> str:
    """Return the path of an image in the theme, or an empty string for other files."""
    url = get_asset_url(shop, asset.theme_id, asset.key, asset.content.md5)
    if url is None or not asset.key.lower().endswith(_IMAGE_SUFFIXES):
        return ""
    return get_local_path(url)
