import pytest

from apps.core.tenancy.models import Installation, Shop
from tests.support import factories


@pytest.fixture
def installation(shop: Shop) -> Installation:
    return factories.make_installation(shop, scopes=["read_content"])
