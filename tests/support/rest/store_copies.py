"""Copies of a store as its apps see it: what each resource looks like now, and what a request's events say about it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from unittest.mock import patch

import orjson
from django.db.models import Model
from django.utils import timezone

from apps.catalog.domain.notifications.stock_updates import record_waiting_updates
from apps.catalog.models import DelayedUpdate
from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.events.topics import topics
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, get_current_shop, shop_scope
from apps.customers.domain.lookup import PURCHASING_SUMMARY
from apps.metafields.domain.owners import owner_types
from apps.metafields.models import Metafield

VERSION = "2026-10"
# The time of the last change with microseconds, which the rendered times do not have.
MOVED_AT = "updated_at in the database"
_CHANGES = ("update", "updated")
# These resources have no topic for changes as such. Only the payloads of their events are checked.
_WITHOUT_CHANGE_TOPIC = {"fulfillment_orders"}
_DELETIONS = ("delete", "disconnect")


@dataclass(frozen=True)
class Family:
    """The topics of one resource, such as ``orders/create`` and ``orders/updated``."""

    name: str
    model: type[Model]
    verbs: tuple[str, ...]
    owner_resource: str = ""

    @property
    def rendering_topic(self) -> str:
        return f"{self.name}/{next(verb for verb in self.verbs if verb not in _DELETIONS)}"

    def render_all(self) -> dict[int, Mapping[str, Any]]:
        """Return the REST representation of each row of the current shop."""
        rows = self.model._default_manager.order_by("pk")
        if self.owner_resource:
            rows = rows.filter(owner_resource=self.owner_resource)
        if self.model is Shop:
            rows = rows.filter(pk=get_current_shop().pk)
        instances = list(rows)
        rendered = topics[self.rendering_topic].render_many(instances, VERSION) if instances else []
        return {
            row.pk: {**orjson.loads(orjson.dumps(values)), MOVED_AT: str(getattr(row, "updated_at", ""))}
            for row, values in zip(instances, rendered, strict=True)
        }

    def get_change_topics(self) -> set[str]:
        return {f"{self.name}/{verb}" for verb in self.verbs if verb in _CHANGES}


def get_families() -> list[Family]:
    """Return the families of all resources with events for creations or changes."""
    prefixes = {owner.topic_prefix: owner.resource for owner in owner_types.values()}
    families = []
    for name in dict.fromkeys(topic.split("/")[0] for topic in topics):
        members = [topic for topic in topics.values() if topic.name.startswith(f"{name}/") and topic.is_subscribable]
        shown = [topic for topic in members if topic.render_together is not None or topic.name == "shop/update"]
        if not shown:
            continue
        verbs = tuple(topic.name.split("/")[1] for topic in members)
        example = shown[0].example
        if name in prefixes:
            families.append(Family(name, Metafield, verbs, prefixes[name]))
        elif isinstance(example, type) and ({*_CHANGES, "create"} & {*verbs} or name in _WITHOUT_CHANGE_TOPIC):
            families.append(Family(name, example, verbs))
    return families


# Topics that render their payloads together, but not as the REST representation.
_OTHER_PAYLOADS = frozenset({PURCHASING_SUMMARY})
Copy = dict[tuple[str, int], Mapping[str, Any]]


def copy_store(shop: Shop) -> Copy:
    """Return the REST representation of all resources, keyed by the family's name and the id."""
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        return {(family.name, pk): values for family in get_families() for pk, values in family.render_all().items()}


@contextmanager
def report_everything() -> Iterator[None]:
    """Within the block, all events of all topics have an audience, so that their payloads are rendered."""
    with patch.dict(audiences, {lambda shop, topic: frozenset({VERSION}): None}):
        yield


def find_unreported(before: Copy, after: Copy, events: list[Event]) -> list[str]:
    """Return the differences that an app would miss that replays the events on a copy of the store from before."""
    families = {family.name: family for family in get_families()}
    reported: dict[tuple[str, int], dict[str, Event]] = {}
    for event in events:
        reported.setdefault((event.topic.split("/")[0], event.subject_id), {})[event.topic] = event
    problems = []
    for key in dict.fromkeys([*before, *after]):
        family, events_of_row = families[key[0]], reported.get(key, {})
        wanted = family.get_change_topics()
        if key not in before:
            wanted = {f"{family.name}/{verb}" for verb in family.verbs if verb in {"create", "connect"}} or wanted
        elif key not in after:
            wanted = {f"{family.name}/{verb}" for verb in family.verbs if verb in _DELETIONS}
        elif before[key] == after[key]:
            wanted = set()
        if family.name in _WITHOUT_CHANGE_TOPIC:
            wanted = set()
        if wanted and not wanted & events_of_row.keys():
            changed = sorted(
                name
                for name in {*before.get(key, {}), *after.get(key, {})}
                if before.get(key, {}).get(name) != after.get(key, {}).get(name)
            )
            problems.append(f"{key[0]} {key[1]}: no {' or '.join(sorted(wanted))} ({', '.join(changed)})")
        last = max(events_of_row.values(), key=attrgetter("pk"), default=None)
        is_resource = last is not None and last.topic not in _OTHER_PAYLOADS and topics[last.topic].render_together
        if key in after and last is not None and is_resource:
            shown = {name: value for name, value in after[key].items() if name != MOVED_AT}
            payload = (last.payload or {}).get(VERSION, {})
            if stale := sorted(name for name in {*shown, *payload} if payload.get(name) != shown.get(name)):
                problems.append(f"{last.topic} of {key[1]} is stale: {', '.join(stale)}")
    return [re.sub(r"\b\d{3,}\b", "ID", problem) for problem in problems]


def run_waiting_work(shop: Shop) -> None:
    """Run the jobs of the shop that are due, and record the updates that wait for the end of their quiet period."""
    with shop_scope(shop):
        due = Job.objects.filter(state=Job.State.WAITING, due_at__lte=timezone.now()).order_by("pk")
        keys = list(due.values_list("key", flat=True))
    for key in keys:
        queue.run_job(key)
    with all_shops_scope():
        now = timezone.now()
        DelayedUpdate.objects.update(quiet_until=now)
        record_waiting_updates(now)
