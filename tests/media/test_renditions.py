"""Tests that a limited number of resized images is cached, and that files are written atomically."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile

from apps.media.renditions import DELETED_AT_ONCE, MAX_RENDITIONS, get_or_create_rendition
from apps.media.storage import AtomicFileStorage, list_files, list_folders, read_file


@pytest.fixture
def storage(tmp_path: Path) -> AtomicFileStorage:
    """Return a storage with an empty folder."""
    return AtomicFileStorage(location=str(tmp_path))


def get_created_versions(storage: AtomicFileStorage, *numbers: int) -> list[int]:
    """Request the renditions with these numbers; return the numbers of the renditions that were not cached."""
    created: list[int] = []

    def maker(number: int) -> Callable[[], bytes]:
        def make() -> bytes:
            created.append(number)
            return str(number).encode()

        return make

    for number in numbers:
        assert get_or_create_rendition(storage, "a/sizes", f"{number}.png", maker(number)) == str(number).encode()
        path = Path(storage.path(f"a/sizes/{number}.png"))
        if number in created:
            os.utime(path, (number, number))
    return created


def test_a_version_is_made_once(storage: AtomicFileStorage) -> None:
    assert get_created_versions(storage, 1, 2, 1, 2) == [1, 2]


def test_the_oldest_versions_make_room_for_more(storage: AtomicFileStorage) -> None:
    get_created_versions(storage, *range(1, MAX_RENDITIONS + 1))

    assert get_created_versions(storage, MAX_RENDITIONS + 1) == [MAX_RENDITIONS + 1]
    assert get_created_versions(storage, MAX_RENDITIONS + 1, DELETED_AT_ONCE + 1, MAX_RENDITIONS) == []
    assert len(list_files(storage, "a/sizes")) == MAX_RENDITIONS - DELETED_AT_ONCE + 1
    assert get_created_versions(storage, 1, DELETED_AT_ONCE) == [1, DELETED_AT_ONCE]


def test_there_are_never_more_than_may_be_kept(storage: AtomicFileStorage) -> None:
    for number in range(1, 3 * MAX_RENDITIONS):
        get_created_versions(storage, number)
        assert len(list_files(storage, "a/sizes")) <= MAX_RENDITIONS


class _FullDisk(AtomicFileStorage):
    def _save(self, name: str, content: Any) -> str:
        raise OSError(28, "No space left on device")


def test_a_version_that_cannot_be_kept_is_shown_all_the_same(tmp_path: Path) -> None:
    assert get_or_create_rendition(_FullDisk(location=str(tmp_path)), "a/sizes", "1.png", lambda: b"one") == b"one"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class _SlowContent(ContentFile[bytes]):
    """File content in two parts. The second part waits for an event."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.begun, self.go_on = threading.Event(), threading.Event()

    def chunks(self, chunk_size: int | None = None) -> Any:
        yield b"first half, "
        self.begun.set()
        if not self.go_on.wait(timeout=30):
            raise OSError
        yield b"second half"


def test_a_file_is_there_completely_or_not_at_all(storage: AtomicFileStorage) -> None:
    content = _SlowContent()
    writer = threading.Thread(target=lambda: storage.save("a/file.png", content))
    writer.start()
    content.begun.wait(timeout=30)

    assert read_file(storage, "a/file.png") is None
    content.go_on.set()
    writer.join(timeout=30)
    assert read_file(storage, "a/file.png") == b"first half, second half"
    assert list_files(storage, "a") == ["file.png"]


def test_what_is_not_there_is_nothing(storage: AtomicFileStorage) -> None:
    assert read_file(storage, "no/file") is None
    assert list_files(storage, "no") == list_folders(storage, "no") == []
