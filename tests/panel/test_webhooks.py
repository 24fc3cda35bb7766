from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone, translation
from django.utils.html import escape

from apps.core.events.timelines import get_topic_label
from apps.core.i18n.messages import translate
from apps.core.jobs.models import Job
from apps.core.tenancy.models import App, Installation, Shop, User
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.domain import app_installation
from apps.shops.domain.app_installation import install_app
from apps.webhooks.domain import app_config, subscriptions
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.domain.topic_examples import list_subscribable_topics
from apps.webhooks.models import Delivery, Payload, Subscription
from apps.webhooks.models.deliveries import ERROR_LABELS
from tests.support import factories
from tests.support.api_client import Response
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.webhooks import URI, create_blogs, make_attempt, make_delivery, make_subscription
from tests.webhooks.test_configuration import FILE

pytestmark = pytest.mark.usefixtures("in_shop")
LIST, LOG = "webhooks_subscription", "webhooks_delivery"
State = Delivery.State


@pytest.fixture
def installation(shop: Shop) -> Installation:
    return factories.make_installation(shop, ("read_content",))


@pytest.fixture
def subscription(installation: Installation) -> Subscription:
    return make_subscription(installation, URI)


@pytest.fixture
def webhook_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("applications")


def list_deliveries(panel: Panel, **query: object) -> list[Delivery]:
    return list(panel.get(f"{LOG}_changelist", **query).context["cl"].result_list)


def make_configured_subscription(app: App) -> Subscription:
    values = {"topic": "shop/update", "uri": f"{URI}/all", "api_version": "2026-10"}
    return subscriptions.create_configured_subscription(app, values, at=timezone.now())


def test_the_list_says_how_each_fares(webhook_client: Panel, installation: Installation) -> None:
    now = timezone.now()
    words = ("well", "failing", "tried", "held", "new", "off")
    made = {word: make_subscription(installation, f"{URI}/{word}") for word in words}
    for word, states in {"well": (State.DEAD, State.DONE), "failing": (State.DONE, State.DEAD)}.items():
        for hours, state in zip((2, 1), states, strict=True):
            make_delivery(installation, made[word], state=state, finished_at=now - timedelta(hours=hours))
    make_delivery(installation, made["tried"], state=State.RETRY)
    make_delivery(installation, made["held"], state=State.HELD)
    subscriptions.disable_subscription(made["off"], reason="The endpoint responded with 410 Gone.", at=now)

    response = webhook_client.get(f"{LIST}_changelist")

    rows = {row.uri.rsplit("/")[-1]: row for row in response.context["cl"].result_list}
    assert rows["tried"].is_retrying
    for sentence in ("Working", "Failing", "Some deliveries held", "Nothing sent yet", "Disabled"):
        assert sentence in response.content.decode()


def test_configured_subscriptions_are_not_editable(webhook_client: Panel, installation: Installation) -> None:
    subscription = make_configured_subscription(installation.app)
    make_delivery(installation, subscription, state=State.DONE, finished_at=timezone.now())

    page = webhook_client.get(f"{LIST}_change", subscription.pk).content.decode()
    response = webhook_client.forge(f"{LIST}_pause", subscription.pk)
    after = webhook_client.get(f"{LIST}_change", subscription.pk).content.decode()

    subscription.refresh_from_db()
    assert (response.status_code, subscription.state) == (302, Subscription.State.LIVE)
    assert "From the app&#x27;s configuration file" in page
    assert "Pause" not in page
    assert "Only the app&#x27;s developer can change it" in after


def test_deliveries_to_other_shops_are_hidden(webhook_client: Panel, installation: Installation) -> None:
    subscription, other = make_configured_subscription(installation.app), factories.make_shop()
    elsewhere = install_app(installation.app, other, scopes=("read_content",), actor="system", at=timezone.now())
    foreign = make_delivery(elsewhere, subscription, state=State.DEAD, finished_at=timezone.now())

    response = webhook_client.get(f"{LIST}_change", subscription.pk)

    assert response.context["missing_since"] is None
    assert list(response.context["latest"]) == []
    assert webhook_client.get(f"{LOG}_change", foreign.pk).status_code == 404
    assert webhook_client.get(f"{LOG}_changelist").context["cl"].result_count == 0


def test_an_app_that_is_not_installed_here_is_not_in_the_list(webhook_client: Panel) -> None:
    foreign = make_subscription(factories.make_installation(factories.make_shop(), ("read_content",)), URI)

    assert webhook_client.get(f"{LIST}_changelist").context["cl"].result_count == 0
    assert webhook_client.get(f"{LIST}_change", foreign.pk).status_code == 404


def test_pausing_holds_and_resuming_lets_go(webhook_client: Panel, subscription: Subscription) -> None:
    states = []
    for action in ("pause", "resume"):
        webhook_client.forge(f"{LIST}_{action}", subscription.pk)
        subscription.refresh_from_db()
        states.append((subscription.state, subscription.reason))

    assert states == [("paused", "Paused by staff."), ("live", "")]


def test_a_test_goes_out_and_its_page_is_shown(webhook_client: Panel, subscription: Subscription) -> None:
    response = webhook_client.forge(f"{LIST}_test", subscription.pk)

    delivery = Delivery.objects.get()
    assert delivery.kind == Delivery.Kind.TEST
    assert response["Location"] == webhook_client.url(f"{LOG}_change", delivery.pk)


def test_failed_deliveries_are_replayed(
    webhook_client: Panel, installation: Installation, subscription: Subscription
) -> None:
    make_delivery(installation, subscription, state=State.DEAD, finished_at=timezone.now())
    page = webhook_client.get(f"{LIST}_change", subscription.pk).content.decode()

    queries: list[dict[str, str]] = [{"since": "2026-01-31T12:00"}, {"all": "1"}, {"since": "yesterday"}]
    for typed in queries:
        response = webhook_client.forge(f"{LIST}_recover", subscription.pk, **typed)

    assert 'name="since"' in page
    assert "Enter a date and time." in webhook_client.http.get(response["Location"]).content.decode()
    arguments = [job.arguments for job in Job.objects.filter(task="webhooks.replay_deliveries").order_by("pk")]
    assert len(arguments) == 2
    assert arguments[0]["since"].startswith("2026-01-31T")
    assert arguments[1]["states"] == ["dead"]


def test_a_filter_is_tried_on_what_happened(webhook_client: Panel, subscription: Subscription) -> None:
    create_blogs(webhook_client.shop, 2)

    tried = webhook_client.get(f"{LIST}_change", subscription.pk, filter='title:"News 1"').context["trials"]
    refused = webhook_client.get(f"{LIST}_change", subscription.pk, filter="title:").context["filter_error"]

    assert [item["fits"] for item in tried] == [True, False]
    assert refused


_UNSUBSCRIBED = (
    "The subscription was disabled or deleted before the delivery was sent",
    "Das Abonnement wurde vor dem Senden ausgeschaltet oder gelöscht",
)


def test_a_delivery_shows_its_attempts_and_what_was_sent(webhook_client: Panel, installation: Installation) -> None:
    delivery = make_delivery(installation, state=State.RETRY, attempts=1, error="status_500")
    make_attempt(delivery, outcome="status", status=500, excerpt="<b>Oops</b>", response_headers={"Server": "x"})

    page = webhook_client.get(f"{LOG}_change", delivery.pk).content.decode()

    parts = ["1 of 9", "The address responded with 500", "&lt;b&gt;Oops&lt;/b&gt;", "Server: x", "Send now"]
    assert [part for part in (*parts, str(delivery.key), "&quot;id&quot;") if part not in page] == []


def test_problems_are_described_in_words(webhook_client: Panel, installation: Installation) -> None:
    subscription = make_subscription(installation, URI, topic="shop/update")
    for error in ERROR_LABELS:
        make_delivery(installation, subscription, state=State.DEAD, finished_at=timezone.now(), error=error)

    def get_problems(language: str) -> list[str]:
        User.objects.filter(pk=webhook_client.user.pk).update(language=language)
        page = webhook_client.get(f"{LOG}_changelist").content.decode()
        assert not [error for error in ERROR_LABELS if f">{error}<" in page]
        return [message for message in _UNSUBSCRIBED if message in page]

    assert [get_problems("en"), get_problems("de")] == [[_UNSUBSCRIBED[0]], [_UNSUBSCRIBED[1]]]


def test_deleted_payloads_are_reported_as_deleted(webhook_client: Panel, installation: Installation) -> None:
    delivery = make_delivery(installation, state=State.DONE, finished_at=timezone.now())
    Payload.objects.all().delete()

    page = webhook_client.get(f"{LOG}_change", delivery.pk).content.decode()

    assert "has expired" in page
    assert "Replay" not in page


def test_deliveries_are_sent_again(
    webhook_client: Panel, installation: Installation, subscription: Subscription
) -> None:
    first, two, under_way = (
        make_delivery(installation, subscription, state=state, attempts=9, finished_at=timezone.now())
        for state in (State.DEAD, State.DONE, State.LEASED)
    )

    webhook_client.forge(f"{LOG}_again", first.pk)
    selected = {"action": "send_again", "_selected_action": [first.pk, two.pk, under_way.pk]}
    response = webhook_client.http.post(webhook_client.url(f"{LOG}_changelist"), selected, follow=True)

    assert "2 of 3 deliveries are being sent again" in response.content.decode()
    states = {first.pk: "retry", two.pk: "retry", under_way.pk: "leased"}
    assert dict(Delivery.objects.values_list("pk", "state")) == states


def test_the_log_is_searched_by_topic_thing_and_id(webhook_client: Panel, installation: Installation) -> None:
    subscription = make_subscription(installation, URI)
    create_blogs(webhook_client.shop, 2, title="Paper")
    fan_out.create_deliveries()
    first, second = Delivery.objects.filter(subscription=subscription).select_related("event").order_by("pk")
    assert first.event

    terms = {"blogs/": [second, first], "orders/": [], "Paper 1": [second], "no such": []}
    terms |= {str(first.event.subject_id): [first], str(second.key): [second]}
    assert {term: list_deliveries(webhook_client, q=term) for term in terms} == terms


def test_the_log_is_filtered_by_subscription_and_app(webhook_client: Panel, installation: Installation) -> None:
    one = make_delivery(installation)
    two = make_delivery(installation, make_subscription(installation, f"{URI}/two"))

    assert list_deliveries(webhook_client, subscription=two.subscription_id) == [two]
    assert list_deliveries(webhook_client, app=installation.app_id) == [two, one]


def test_the_rate_limit_is_set(webhook_client: Panel, subscription: Subscription, installation: Installation) -> None:
    make_delivery(installation, subscription, state=State.DUE)
    pages = []
    for in_flight, per_second, result in (("51", "0", (False, 10, None)), ("3", "5", (True, 3, 5))):
        limits = {"ordered": "on", "max_in_flight": in_flight, "max_per_second": per_second}
        pages.append(webhook_client.forge(f"{LIST}_pace", subscription.pk, **limits).content.decode())
        subscription.refresh_from_db()
        assert (subscription.ordered, subscription.max_in_flight, subscription.max_per_second) == result
    page = webhook_client.get(f"{LIST}_change", subscription.pk).content.decode()

    assert "Ensure this value is less than or equal to 50." in pages[0]
    assert "Ensure this value is greater than or equal to 1." in pages[0]
    assert "is limited to 5 deliveries per second" in " ".join(page.split())


def test_the_live_view_asks_for_rows_alone(webhook_client: Panel, installation: Installation) -> None:
    make_delivery(installation)

    page, rows = webhook_client.get(f"{LOG}_live"), webhook_client.get(f"{LOG}_live", rows="")

    assert "panel/webhooks" in page.content.decode()
    assert rows.content.decode().strip().startswith("<tr>")
    assert "shop/update" in rows.content.decode()


def upload_configuration(owner: Panel, app: App, text: str) -> Response:
    file = SimpleUploadedFile("app.toml", text.encode(), "application/toml")
    return owner.forge(f"{LIST}_configuration", app.pk, file=file)


def test_staff_see_what_a_file_changes_before_it_is_applied(owner_client: Panel, shop: Shop) -> None:
    app = app_installation.create_app(name="Own", owner=shop)
    text = FILE.format(key=app.api_key)

    output = upload_configuration(owner_client, app, text)

    assert "customers/redact" in output.content.decode()
    with all_shops_scope():
        assert not Subscription.objects.filter(app=app).exists()
    data = get_form(output.content, "seen").data | {"apply": "1"}
    stale = owner_client.post(f"{LIST}_configuration", app.pk, **data | {"seen": ["other"]})
    assert "Someone else changed this" in stale.content.decode()
    assert owner_client.post(f"{LIST}_configuration", app.pk, **data).status_code == 302
    with all_shops_scope():
        assert Subscription.objects.filter(app=app, deleted_at=None).count() == 5
    again = upload_configuration(owner_client, app, text)
    assert "No changes. The app already matches this file." in again.content.decode()


def test_a_file_that_does_not_fit_is_refused_on_the_page(owner_client: Panel, shop: Shop) -> None:
    app = app_installation.create_app(name="Own", owner=shop)

    for text, message in (
        ("[webhooks", "This file is not valid TOML"),
        ('client_id = "another"', "client_id belongs to another app"),
        ("#" * (app_config.MAX_BYTES + 1), "The file is too large"),
    ):
        assert message in upload_configuration(owner_client, app, text).content.decode()


def test_each_topic_has_a_name_in_plain_words(webhook_client: Panel) -> None:
    page = " ".join(webhook_client.get(f"{LIST}_topics").content.decode().split())
    webhook_client.user.language = "de"
    webhook_client.user.save()
    german = " ".join(webhook_client.get(f"{LIST}_topics").content.decode().split())

    for topic in list_subscribable_topics():
        assert f'<strong>{escape(topic.label)}</strong> <code class="bo-subtle">{topic.name}</code>' in page
        with translation.override("de"):
            assert (label := translate(topic.label)) != topic.label
        assert f'<strong>{escape(label)}</strong> <code class="bo-subtle">{topic.name}</code>' in german


def test_lists_show_and_find_topics_by_their_names(webhook_client: Panel, installation: Installation) -> None:
    subscription = make_subscription(installation, URI)
    delivery = make_delivery(installation, subscription)
    label = get_topic_label(subscription.topic)

    for name, row in ((LIST, subscription), (LOG, delivery)):
        page = webhook_client.get(f"{name}_changelist", q=label.upper())
        assert list(page.context["cl"].result_list) == [row]
        assert f"<strong>{label}</strong> <span>{row.topic}" in page.content.decode()
        assert list(webhook_client.get(f"{name}_changelist", q="Theme deleted").context["cl"].result_list) == []
    for name, row in ((LIST, subscription), (LOG, delivery)):
        text = " ".join(webhook_client.get(f"{name}_change", row.pk).content.decode().split())
        assert f'<span>{label}</span> <code class="bo-subtle">{row.topic}</code>' in text
