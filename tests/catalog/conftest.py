"""Fixtures of the catalog's tests: pictures go to a folder of the test's own."""

from pathlib import Path
from typing import Any

import pytest

from backoffice.storages import get_storage_settings


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    """Where uploads of the test lie."""
    folder = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {"default": get_storage_settings("", folder)["default"]}
    return folder
