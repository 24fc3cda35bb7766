"""The code editor of themes: the tree of files, one file, its versions, search."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Case, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.translation import gettext as _

from apps.content.domain import assets, contents
from apps.content.domain.addresses import asset_url, path_of
from apps.content.domain.archive import DEFAULT, LAYOUT
from apps.content.domain.media_types import media_type
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.ground.errors import DomainError
from apps.ground.phrases import larger_than
from apps.ground.retelling import retold
from apps.media.storage import StorageFailed
from apps.panel.access import may, require
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.markup import as_before
from apps.panel.search import PER_MODEL, also_find
from apps.panel.theme import SearchResult
from apps.panel.wording import in_words
from apps.staff.domain.actors import names_of

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
_PICTURES = (".png", ".gif", ".jpg", ".jpeg", ".webp", ".avif", ".svg", ".ico")


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search found."""

    key: str
    line: int
    text: str


def language_of(key: str) -> str:
    """What the editor colours a file as."""
    name = key.lower().removesuffix(".liquid") if key.lower().endswith((".css.liquid", ".js.liquid")) else key.lower()
    return _LANGUAGES.get(name[name.rfind(".") :], "")


@dataclass(frozen=True, slots=True)
class Reading:
    """What is in a file: its text, None where it is none; ``lost`` where the storage does not give it."""

    text: str | None = None
    lost: bool = False


def read_text(key: str, content: FileContent) -> Reading:
    """The text of a file."""
    if not assets.is_text(key):
        return Reading()
    try:
        return Reading(contents.read(content).decode())
    except UnicodeDecodeError:
        return Reading()
    except StorageFailed:
        return Reading(lost=True)


def _now(asset: Asset | None) -> Reading:
    return read_text(asset.key, asset.content) if asset else Reading()


def search(theme: Theme, term: str) -> list[Hit]:
    """The lines of a theme's text files that hold a term, ignoring case."""
    wanted = term.casefold()
    hits: list[Hit] = []
    for asset in Asset.objects.select_related("content").filter(theme=theme).order_by("key")[:SEARCHED_FILES]:
        text = read_text(asset.key, asset.content).text
        for number, line in enumerate(text.splitlines() if text else (), start=1):
            if wanted in line.casefold():
                hits.append(Hit(asset.key, number, line.strip()[:LONGEST_LINE]))
                if len(hits) == SHOWN_HITS:
                    return hits
    return hits


@also_find
def find_files(request: HttpRequest, term: str) -> Iterable[SearchResult]:
    """The theme files whose key holds a term, for the search from anywhere; those of the published theme first."""
    if not (may(request, VIEW_ASSET) or may(request, CHANGE_ASSET)):
        return
    live = Case(When(theme__role=Theme.Role.MAIN, then=0), default=1)
    found = Asset.rows().filter(key__icontains=term).select_related("theme").order_by(live, "theme_id", "key")
    for asset in found[:PER_MODEL]:
        yield SearchResult(
            title=asset.key,
            description=_("File of {name}").format(name=asset.theme.name),
            link=_address(asset.theme_id, asset.key),
            icon="code",
        )


def _address(theme_id: int, key: str = "") -> str:
    return reverse("admin:content_theme_code", args=(theme_id,)) + (f"?{urlencode({'key': key})}" if key else "")


class ThemeCode(ShopOwnedAdmin[Theme]):
    """The pages of a theme's files."""

    def code_urls(self) -> Iterable[URLPattern]:
        """The editor, and what it sends."""
        return (
            self.action_url("<path:object_id>/code/", self.code_view, "code"),
            self.action_url("<path:object_id>/code/delete/", self.delete_file_view, "delete_file"),
            self.action_url("<path:object_id>/code/versions/<int:version_id>/", self.version_view, "version"),
        )

    def code_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The tree, and the file that ``key`` names."""
        require(request, VIEW_ASSET, CHANGE_ASSET)
        theme = self.row_or_404(request, object_id)
        if request.method == "POST":
            require(request, CHANGE_ASSET)
            return self._save(request, theme)
        key, term = request.GET.get("key", ""), request.GET.get("q", "").strip()
        return self._show(request, theme, key, hits=search(theme, term) if term else None, term=term)

    def _save(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        """Save what was typed or uploaded, unless somebody else saved meanwhile."""
        key, expected = request.POST.get("key", "").strip(), request.POST.get("expected", "")
        upload = request.FILES.get("file")
        current = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
        typed = request.POST.get("text", "")
        try:
            assets.check_key(key)
            if upload is not None and upload.size is not None and upload.size > DEFAULT.binary_bytes:
                raise assets.AssetRefused(
                    _("{key} is {size}").format(key=key, size=retold(larger_than(DEFAULT.binary_bytes)))
                )
            if upload is None and "text" not in request.POST and current is not None and expected:
                raise assets.AssetRefused(_("choose the file that shall take the place of {key}").format(key=key))
            before = _now(current).text or ""
            data = upload.read() if upload is not None else as_before(before, typed).encode()
            assets.check_content(key, data)
            content = contents.store(data)
            assets.save_asset(theme, key, content, **self.by(request), expected=expected)
        except assets.EditConflict:
            if not expected:
                return self._show(request, theme, key, refusal=_("{key} exists already").format(key=key))
            return self._show(request, theme, key, typed=None if upload else typed, conflict=True)
        except Theme.DoesNotExist:
            raise Http404 from None
        except DomainError as refusal:
            return self._show(request, theme, key, typed=None if upload else typed, refusal=in_words(refusal))
        self.message_user(request, _("Saved {key}.").format(key=key), messages.SUCCESS)
        return HttpResponseRedirect(_address(theme.pk, key))

    def _show(
        self,
        request: HttpRequest,
        theme: Theme,
        key: str,
        *,
        typed: str | None = None,
        conflict: bool = False,
        refusal: str = "",
        **context: object,
    ) -> HttpResponse:
        """The page of one file, as it is stored or as it was typed; the status says what became of saving it."""
        asset = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
        history = _history(theme, key, asset)
        may_change = may(request, CHANGE_ASSET) and theme.previewable
        response = self.page(
            request,
            "panel/themes/code.html",
            _("Code of {theme}").format(theme=theme),
            original=theme,
            key=key,
            asset=asset,
            # Of Liquid that customers would see broken.
            warns=may_change and theme.role == Theme.Role.MAIN and language_of(key) == "liquid",
            missing=bool(key) and asset is None and not refusal and not conflict,
            conflict=conflict,
            refusal=refusal,
            may_change=may_change,
            **_tree(theme),
            **_content(theme, key, asset, typed=typed, conflict=conflict),
            **history,
            **context,
        )
        unknown = bool(key) and asset is None and not history["versions"]
        response.status_code = 409 if conflict else 422 if refusal else 404 if unknown else 200
        return response

    def delete_file_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Delete a file; its versions stay."""
        require(request, CHANGE_ASSET)
        theme = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        key = request.POST.get("key", "")
        try:
            assets.delete_asset(theme, key, **self.by(request))
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            self.message_user(
                request, _("Deleted {key}. It can be restored from its versions.").format(key=key), messages.SUCCESS
            )
        return HttpResponseRedirect(_address(theme.pk, key))

    def version_view(self, request: HttpRequest, object_id: str, version_id: int) -> HttpResponse:
        """What restoring a version would change; POST restores it."""
        require(request, VIEW_ASSET, CHANGE_ASSET)
        theme = self.row_or_404(request, object_id)
        version = AssetVersion.objects.select_related("content").filter(theme=theme, pk=version_id).first()
        if version is None:
            return HttpResponseRedirect(_address(theme.pk))
        if request.method == "POST":
            require(request, CHANGE_ASSET)
            try:
                assets.restore_version(version, **self.by(request))
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
            else:
                self.message_user(request, _("Restored {key}.").format(key=version.key), messages.SUCCESS)
            return HttpResponseRedirect(_address(theme.pk, version.key))
        now = Asset.objects.select_related("content").filter(theme=theme, key=version.key).first()
        earlier = read_text(version.key, version.content)
        return self.page(
            request,
            "panel/themes/version.html",
            f"{version.key}, {version.saved_at:%Y-%m-%d %H:%M}",
            original=theme,
            version=version,
            who=names_of([version.actor])[version.actor],
            back=_address(theme.pk, version.key),
            current=_now(now).text or "",
            earlier=earlier.text,
            lost=earlier.lost,
            language=language_of(version.key),
            may_change=may(request, CHANGE_ASSET),
        )


def _tree(theme: Theme) -> Context:
    """The theme's files by folder, and the keys of those that were deleted."""
    files = Asset.objects.filter(theme=theme)
    keys = list(files.order_by("key").values_list("key", flat=True))
    gone = AssetVersion.objects.filter(theme=theme).exclude(key__in=keys)
    return {
        "tree": [(folder, list(group)) for folder, group in groupby(keys, key=lambda one: one.split("/")[0])],
        "deleted": gone.order_by("key").values_list("key", flat=True).distinct(),
    }


def _content(theme: Theme, key: str, asset: Asset | None, *, typed: str | None, conflict: bool) -> Context:
    """What is in a file, or what somebody typed over it."""
    stored = _now(asset)
    return {
        "lost": stored.lost,
        "is_text": assets.is_text(key) if key else False,
        "text": stored.text if typed is None else typed,
        "theirs": stored.text if conflict else None,
        "language": language_of(key),
        "content_type": media_type(key) if key else "",
        "picture": _picture(theme, asset) if asset else "",
        "deletable": asset is not None and key != LAYOUT,
    }


def _history(theme: Theme, key: str, asset: Asset | None) -> Context:
    """The earlier versions of a file and who saved each, and who saved the present one."""
    versions = list(AssetVersion.objects.filter(theme=theme, key=key).order_by("-id")) if key else []
    names = names_of([*(version.actor for version in versions), *([asset.actor] if asset else [])])
    return {
        "versions": [(version, names[version.actor]) for version in versions],
        "saved_by": names[asset.actor] if asset else "",
    }


def _picture(theme: Theme, asset: Asset) -> str:
    """Where a picture among the files is seen, on this host."""
    url = asset_url(theme.shop, theme.pk, asset.key, asset.content.md5)
    if url is None or not asset.key.lower().endswith(_PICTURES):
        return ""
    return path_of(url)
