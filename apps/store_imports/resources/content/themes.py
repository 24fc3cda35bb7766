"""Import themes as drafts, and their files.

The API has no IDs of theme files, so the import numbers them: a file's ID is that of the imported theme, followed by a
number that is derived from the key. So the position of an interrupted import is a file of a theme.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar

from django.db.models import Model, QuerySet

from apps.content.api.themes import ThemeSerializer
from apps.content.domain import assets, blob_store
from apps.content.domain.assets import AssetRefused, StoredAsset
from apps.content.domain.themes import create_empty_theme, delete_theme, rename_theme
from apps.content.models import Asset, FileContent, Theme
from apps.core.i18n.messages import Message, as_message, define_message, define_text
from apps.core.media.storage import StorageFailed
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import (
    ObjectGone,
    SourceObject,
    read_creation_time,
    refuse_malformed,
    sort_by_id,
)
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.models import MappedId
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 50
MAX_NAME = 255
# The ID of a file in the map of IDs has the last bits of the theme's ID, and the number of the file within its theme.
_THEME_BITS, KEY_BITS = 30, 32
# The number of themes to look up. A shop has at most 20.
_MAX_THEMES = 1000
_PUBLISHED_THEME = define_text(
    "store_imports.published_theme",
    "This is the store's published theme. It was imported as a draft. Check and publish it.",
)
_NOT_IMPORTED = define_message("store_imports.theme_file", "The file {key} was not imported: {reason}")
_DAMAGED = define_text("store_imports.damaged_file", "content does not match its checksum. Run the import again")
_NO_CONTENT = define_text("store_imports.no_content", "has no content in the response of the store")
_GONE = define_text("store_imports.file_gone", "it was deleted during the import")


class ThemeStream(Stream):
    name = "themes"
    resource = "theme"
    model: ClassVar[type[Model]] = Theme
    id_list = IdList("themes.json", "themes")
    comparison = Comparison(
        read=create_reader(ThemeSerializer),
        limits={"role": "themes are imported as drafts. Staff publish them"},
    )

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Theme)
        delete_theme(target, actor=ACTOR, at=at)

    def get_part_ids(self, target: Model) -> Mapping[str, Collection[int]]:
        return {ThemeFileStream.resource: list(Asset.objects.filter(theme_id=target.pk).values_list("pk", flat=True))}

    def get_own_objects(self) -> QuerySet[Any]:
        """Return the imported themes, because each shop has a theme of its own."""
        return Theme.objects.filter(pk__in=MappedId.objects.filter(resource=self.resource).values("target_id"))

    def count_objects(self, source: Source) -> int | None:
        return len(source.client.get_list("themes.json", "themes"))

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return all themes after ``position``, because the list of themes has no pages."""
        rows = sort_by_id(self.name, source.client.get_list("themes.json", "themes"), position)
        return [{name: row.get(name) for name in ("id", "name", "role", "created_at")} for row in rows]

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = Theme.objects.in_bulk(list(known.values()))
        return [
            write_in_savepoint(partial(_write_theme, source, row, existing.get(known.get(row["id"], 0))))
            for row in objects
        ]


def _write_theme(source: Source, row: SourceObject, target: Theme | None) -> ObjectResult:
    """Create or rename a theme. This shop's published theme stays published."""
    name = str(row["name"] or row["id"])[:MAX_NAME]
    problem = _PUBLISHED_THEME if row["role"] == Theme.Role.MAIN else None
    if target is None:
        role = row["role"] if row["role"] in Theme.Role.values else Theme.Role.UNPUBLISHED
        created_at = read_creation_time(row, source.at).get("created_at", source.at)
        theme = create_empty_theme(name=name, role=role, created_at=created_at, actor=ACTOR, at=source.at)
        return ObjectResult(Outcome.NEW, theme.pk, problem)
    is_renamed = name != target.name
    rename_theme(target, name, actor=ACTOR, at=source.at)
    problem = None if target.role == Theme.Role.MAIN else problem
    return ObjectResult(Outcome.CHANGED if is_renamed else Outcome.UNCHANGED, target.pk, problem)


class ThemeFileStream(Stream):
    """Theme files. The ID of an object consists of the imported theme's ID and the number of the key."""

    name = "theme_files"
    resource = "theme_file"
    model: ClassVar[type[Model]] = Asset
    comparison = Comparison(read=None, not_compared={"theme_id": "is part of the number of the file"})

    def list_ids(self, source: Source, only: Sequence[int] = ()) -> Iterator[int]:
        """Yield the ids of all files. The files of a deleted theme count, because they are deleted with the theme."""
        remaining = {row["id"] for row in source.client.get_list("themes.json", "themes")}
        for theme in source.ids.get_next_entries("theme", 0, _MAX_THEMES):
            if theme.source_id in remaining:
                source.keep_alive()
                yield from (row["id"] for row in _read_files(source, theme.source_id, theme.target_id))
            else:
                first = _number_theme(theme.target_id) << KEY_BITS
                files = MappedId.objects.filter(store_import_id=source.ids.import_id, resource=self.resource)
                files = files.filter(source_id__range=(first, first + 2**KEY_BITS - 1))
                yield from files.values_list("source_id", flat=True)

    def find_changed_here(self, target_ids: Collection[int]) -> set[int]:
        """Return the ids of files that someone else has changed. The audit log names their theme only."""
        rows = Asset.objects.filter(pk__in=target_ids).exclude(actor=ACTOR)
        return set(rows.values_list("pk", flat=True))

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Asset)
        assets.delete_asset(target.theme, target.key, actor=ACTOR, at=at)

    def get_own_objects(self) -> QuerySet[Any]:
        """Return the files of imported themes."""
        themes = MappedId.objects.filter(resource="theme")
        return Asset.objects.filter(theme_id__in=themes.values("target_id"))

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        rows = Asset.objects.filter(pk__in=target_ids).values_list("pk", "key", "content__md5")
        return {pk: {"key": key, "checksum": md5} for pk, key, md5 in rows}

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        """Leave out checksums that can't be compared: those of JSON files, and missing ones."""
        if not theirs["checksum"] or theirs["key"].endswith(".json"):
            del theirs["checksum"]

    def count_objects(self, source: Source) -> int | None:
        return None

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next files of the first theme that has files after ``position``, without their contents."""
        themes = {row.target_id: row.source_id for row in source.ids.get_next_entries("theme", 0, _MAX_THEMES)}
        next_themes = [pk for pk in themes if _number_theme(pk) >= position >> KEY_BITS]
        existing = Theme.objects.filter(pk__in=next_themes).values_list("pk", flat=True)
        for theme_id in sorted(existing, key=_number_theme):
            files = _read_files(source, themes[theme_id], theme_id)
            if rows := [row for row in files if row["id"] > position]:
                return rows[:PAGE_SIZE]
        return []

    @contextmanager
    def fetch_files(self, source: Source, objects: Sequence[SourceObject]) -> Iterator[Mapping[int, Any]]:
        """Store the contents one by one, and yield them or the reasons of failures by ID.

        A content that another theme of the shop has, or that an interrupted import has stored, is not downloaded.
        """
        checksums = {row["checksum"] for row in objects if row["checksum"]}
        stored = {row.md5: row for row in FileContent.objects.filter(md5__in=checksums, stored=True)}
        files: dict[int, StoredAsset | Message] = {}
        for row in objects:
            source.keep_alive()
            try:
                files[row["id"]] = _store_content(source, row, stored)
            except AssetRefused as error:
                files[row["id"]] = error.sentence
            except ObjectGone:
                files[row["id"]] = _GONE
        yield files

    def write_objects(
        self, source: Source, objects: Sequence[SourceObject], files: Mapping[int, StoredAsset | Message]
    ) -> Sequence[ObjectResult]:
        theme_ids = source.ids.get_target_ids("theme", {row["theme_id"] for row in objects})
        themes = Theme.objects.in_bulk(list(theme_ids.values()))
        return [
            _write_file(source, row, themes.get(theme_ids.get(row["theme_id"], 0)), files[row["id"]]) for row in objects
        ]


def _read_files(source: Source, source_theme_id: int, theme_id: int) -> list[SourceObject]:
    """Return the files of a theme in the order of their IDs. A file changes if its checksum or time of change does."""
    try:
        rows = source.client.get_list(f"themes/{source_theme_id}/assets.json", "assets")
    except ObjectGone:
        return []
    files = {}
    for row in rows:
        with refuse_malformed("theme_files", {"id": row.get("key")}):
            checksum = row.get("checksum") or ""
            files[str(row["key"])] = {
                "theme_id": source_theme_id,
                "key": str(row["key"]),
                "checksum": str(checksum),
                "updated_at": None if checksum else row.get("updated_at"),
            }
    numbers = _number_keys(files)
    return sorted(
        ({"id": _number_theme(theme_id) << KEY_BITS | numbers[key], **row} for key, row in files.items()),
        key=itemgetter("id"),
    )


def _number_theme(theme_id: int) -> int:
    return theme_id % 2**_THEME_BITS


def _number_keys(keys: Iterable[str]) -> Mapping[str, int]:
    """Return a number above 0 for each key, which is the same in each run."""
    numbers: dict[str, int] = {}
    used: set[int] = {0}
    for key in sorted(keys):
        number = int.from_bytes(hashlib.sha256(key.encode()).digest()[: KEY_BITS // 8])
        while number in used:
            number = (number + 1) % 2**KEY_BITS
        used.add(number)
        numbers[key] = number
    return numbers


def _store_content(source: Source, row: SourceObject, stored: Mapping[str, FileContent]) -> StoredAsset:
    key = assets.check_asset_key(row["key"])
    data = _read_stored(stored.get(row["checksum"]))
    if data is None:
        data = _download_content(source, row)
    data, note = assets.check_asset_content(key, data)
    return StoredAsset(key, blob_store.store_blob(data), note)


def _read_stored(content: FileContent | None) -> bytes | None:
    try:
        return None if content is None else blob_store.read_blob(content)
    except StorageFailed:
        return None


def _download_content(source: Source, row: SourceObject) -> bytes:
    """Download a file, and once more if the content does not match its checksum.

    The checksum of a JSON file is not compared, because some stores build it from another form of the file.
    """
    for _attempt in range(2):
        asset = source.client.get(f"themes/{row['theme_id']}/assets.json", **{"asset[key]": row["key"]}).get("asset")
        with refuse_malformed("theme_files", {"id": row["key"]}):
            data = _decode(row["key"], dict(asset or {}))
            checksum = (asset or {}).get("checksum")
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if not checksum or checksum == digest or row["key"].endswith(".json"):
            return data
    raise AssetRefused(_DAMAGED)


def _decode(key: str, asset: SourceObject) -> bytes:
    for name in ("value", "attachment"):
        if isinstance(asset.get(name), str):
            return assets.decode_content(key, name, asset[name])
    if isinstance(asset.get("public_url"), str):
        return assets.decode_content(key, "src", asset["public_url"])
    raise AssetRefused(_NO_CONTENT)


def _write_file(source: Source, row: SourceObject, theme: Theme | None, file: StoredAsset | Message) -> ObjectResult:
    if not isinstance(file, StoredAsset):
        return ObjectResult(Outcome.FAILED, problem=_describe_failure(row, file))
    if theme is None:
        return ObjectResult(Outcome.FAILED, problem=_describe_failure(row, _GONE))
    before = assets.get_asset(theme, file.key)

    def write() -> ObjectResult:
        asset = assets.save_asset(theme, file.key, file.content, actor=ACTOR, at=source.at, note=file.note)
        if before is None:
            return ObjectResult(Outcome.NEW, asset.pk)
        is_same = before.content_id == file.content.pk
        return ObjectResult(Outcome.UNCHANGED if is_same else Outcome.CHANGED, asset.pk)

    result = write_in_savepoint(write)
    if result.problem is None:
        return result
    return ObjectResult(Outcome.FAILED, problem=_describe_failure(row, result.problem))


def _describe_failure(row: SourceObject, reason: Message) -> Message:
    return _NOT_IMPORTED(key=row["key"], reason=as_message(str(reason)))
