"""Fixtures for catalog tests: uploads are stored in a temporary directory."""

from pathlib import Path

import pytest
from pytest_django import Settings

from backoffice.configuration.storages import get_storage_settings


@pytest.fixture(autouse=True)
def media_dir(settings: Settings, tmp_path: Path) -> Path:
    """Store uploads in a temporary directory and return the directory."""
    folder = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {"default": get_storage_settings("", folder)["default"]}
    return folder
