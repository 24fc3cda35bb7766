from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.payments.domain import handlers as configuring
from apps.payments.models import PaymentHandlerConfig, WalletShop
from tests.support import factories
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.payments import make_handler

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

ROUNDS = 8
Work = Callable[[], object]


def build_create_work(shop: Shop, known_as: str, handler_id: str = "wallet_pay", *, enabled: bool = False) -> Work:
    def make() -> None:
        with shop_scope(shop):
            make_handler(handler_id=handler_id, config={"shop_id": known_as}, enabled=enabled)

    return make


def create_shops() -> tuple[Shop, Shop]:
    return factories.make_shop(), factories.make_shop(domain="stranger.example", name="Stranger")


def count_shops(known_as: str) -> int:
    """Return the number of shops registered with the wallet under this shop id."""
    with all_shops_scope():
        handlers = list(PaymentHandlerConfig.objects.all())
    return len({handler.shop_id for handler in handlers if handler.config["shop_id"] == known_as})


@pytest.mark.race(control="test_two_shops_have_one_id_without_the_unique_key")
def test_one_of_two_shops_gets_an_id_taken_concurrently() -> None:
    first_shop, two = create_shops()

    for number in range(ROUNDS):
        works = [build_create_work(shop, f"w{number}", f"h{number}") for shop in (first_shop, two)]
        results = run_concurrently(first_shop, *works)

        assert sorted(type(result).__name__ for result in results) == ["NoneType", "WalletShopTaken"]
        assert count_shops(f"w{number}") == 1


def test_two_shops_have_one_id_without_the_unique_key() -> None:
    """Show what goes wrong without the unique key: neither shop detects that the other shop uses the id."""
    first_shop, two = create_shops()

    with without_constraint(WalletShop, "known_as"):
        works = [build_create_work(shop, "w") for shop in (first_shop, two)]
        assert run_concurrently(first_shop, *works) == [None, None]

    assert count_shops("w") == 2


@pytest.mark.race(control="test_two_handlers_are_active_without_the_unique_key")
def test_one_of_two_handlers_activated_concurrently_is_active() -> None:
    first_shop, _ = create_shops()

    for _ in range(ROUNDS):
        works = [build_create_work(first_shop, "w", f"h{number}", enabled=True) for number in range(2)]
        results = run_concurrently(first_shop, *works, expected_errors=(DomainError, IntegrityError))

        assert sorted(type(result).__name__ for result in results) == ["IntegrityError", "NoneType"]
        with shop_scope(first_shop):
            assert PaymentHandlerConfig.objects.filter(enabled=True).count() == 1
            for handler in PaymentHandlerConfig.objects.all():
                configuring.delete_handler(handler, actor="system", at=timezone.now())
            assert not WalletShop.objects.exists()


def test_two_handlers_are_active_without_the_unique_key() -> None:
    """Show what goes wrong without the unique key: both handlers are enabled."""
    first_shop, _ = create_shops()

    with without_constraint(PaymentHandlerConfig, "shop_id", "handler_name", "environment"):
        works = [build_create_work(first_shop, "w", f"h{number}", enabled=True) for number in range(2)]
        run_concurrently(first_shop, *works)
        with shop_scope(first_shop):
            assert PaymentHandlerConfig.objects.filter(enabled=True).count() == 2


def build_delete_work(shop: Shop, handler_id: str) -> Work:
    with shop_scope(shop):
        handler = PaymentHandlerConfig.objects.get(handler_id=handler_id)
    return partial(configuring.delete_handler, handler, actor="system", at=timezone.now())


def has_handler(shop: Shop) -> bool:
    with shop_scope(shop):
        return WalletShop.objects.filter(known_as="w").exists()


@pytest.mark.race(control="test_an_id_in_use_is_released_without_the_lock")
def test_an_id_released_and_taken_concurrently_stays_with_its_user() -> None:
    first_shop, _ = create_shops()
    build_create_work(first_shop, "w", "h0")()

    for number in range(ROUNDS):
        works = build_delete_work(first_shop, f"h{number}"), build_create_work(first_shop, "w", f"h{number + 1}")

        assert run_concurrently(first_shop, *works) == [None, None]
        assert has_handler(first_shop)


def test_an_id_in_use_is_released_without_the_lock() -> None:
    """Show what goes wrong without the lock: the deletion releases the id, because it does not see the new handler."""
    first_shop, _ = create_shops()
    build_create_work(first_shop, "w", "old")()

    works = build_create_work(first_shop, "w", "new"), build_delete_work(first_shop, "old")
    run_unguarded(first_shop, *works, locks={"payments_walletshop"})

    assert count_shops("w") == 1
    assert not has_handler(first_shop)
