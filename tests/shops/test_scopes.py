"""Tests that a shop's rows can only be read and written inside the shop's scope, in tests and in production.

See check A16 in docs/reliability.md.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django_scopes.exceptions import ScopeError

from apps.content.models import ScriptTag
from apps.ground.base_models import ShopOwned
from apps.ground.tenancy import get_current_shop

OWNED = [model for model in apps.get_models() if issubclass(model, ShopOwned)]


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model._meta.label)
def test_rows_of_a_shop_need_its_scope(model: type[ShopOwned]) -> None:
    with pytest.raises(ScopeError):
        model.objects.all().exists()
    with pytest.raises(ScopeError):
        model.objects.all().update()
    with pytest.raises(ScopeError):
        model.rows()


def test_there_is_no_shop_outside_of_every_scope() -> None:
    assert ScriptTag in OWNED
    with pytest.raises(ScopeError):
        get_current_shop()


def test_production_is_as_strict(tmp_path: Path) -> None:
    code = "import django; django.setup(); from apps.orders.models import Order; print(Order.objects.count())"
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "backoffice.settings", "BACKOFFICE_DATA_DIR": str(tmp_path)}

    process = subprocess.run(
        [sys.executable, "-c", code], cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False
    )

    assert process.returncode != 0
    assert "ScopeError" in process.stderr
