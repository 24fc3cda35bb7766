"""Fixtures of the catalog's tests: uploads go to a temporary directory."""

from pathlib import Path
from typing import Any

import pytest

from backoffice.storages import get_storage_settings


@pytest.fixture(autouse=True)
def media_dir(settings: Any, tmp_path: Path) -> Path:
    """Return the directory of the test's uploads."""
    folder = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {"default": get_storage_settings("", folder)["default"]}
    return folder
