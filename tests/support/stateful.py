"""Stateful tests: the suite always tries the same few steps; ``make soak`` tries more steps, and new ones each time."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine

from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import snapshot_database
from tests.support.timing import scale_for_soak
from tests.support.types import Json


def parametrize_settings(short_steps: int) -> pytest.MarkDecorator:
    """Return the parameter ``how``: the settings of the suite and those of ``make soak``."""
    common: Attrs = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
    few = settings(max_examples=4, stateful_step_count=short_steps, derandomize=True, phases=[Phase.generate], **common)
    many = settings(max_examples=scale_for_soak(200), stateful_step_count=50, derandomize=False, **common)
    soak = [pytest.mark.soak, pytest.mark.timeout(0)]
    return pytest.mark.parametrize("how", [pytest.param(few, id="short"), pytest.param(many, id="long", marks=soak)])


class ShopMachine(RuleBasedStateMachine):
    """A state machine with requests as its steps. Each history is rolled back at its end."""

    api: ApiClient
    shop: Shop

    def __init__(self) -> None:
        super().__init__()
        self._whole = transaction.atomic()
        self._whole.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self._whole.__exit__(None, None, None)
        render_cache.cache.clear()

    def post(self, path: str, body: object = None) -> Json:
        """Return the response's body, or None if the request was refused, which must change nothing."""
        before = snapshot_database()
        response = self.api.post(path, body)
        assert response.status_code in {200, 201, 422}, (path, response.content)
        assert response.status_code < 300 or snapshot_database() == before
        return response.json() if response.status_code < 300 else None
