"""Deliveries as events of Amazon EventBridge: a partner event source of the app's, in the region that its name says.

The detail of an event is ``{"payload": …, "metadata": …}``: the bytes of the delivery as they are, and its headers.
Credentials come from where Amazon's library looks for them (``AWS_…`` variables, the machine's role).
"""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError
from django.utils.translation import gettext_noop

from apps.ground.retelling import tells
from apps.outgoing.asynchronous import CONNECT_SECONDS, TOTAL_SECONDS
from apps.outgoing.errors import NotTaken, TimedOut, Unreachable
from apps.outgoing.wires import Progress
from apps.webhooks.domain.engine.claims import Claim

AT_ONCE = 16
_REFUSED = tells(gettext_noop("EventBridge refused it: {code}"))


class EventBuses:
    """A client for each region; its library waits, so calls are made in threads."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}
        self._threads = ThreadPoolExecutor(AT_ONCE, "eventbridge")

    async def put(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        """As ``Queue.put``."""
        region, source = _parts(claim.uri)
        metadata = json.dumps(dict(headers)).encode()
        entry = {
            "Time": claim.triggered_at,
            "Source": source,
            "DetailType": claim.topic,
            "Detail": (b'{"payload":' + claim.body + b',"metadata":' + metadata + b"}").decode(),
        }
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, self._send, region, entry)
        finally:
            progress.ended = progress.now()

    async def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _send(self, region: str, entry: Mapping[str, Any]) -> None:
        try:
            answer = self._client(region).put_partner_events(Entries=[entry])
        except (ConnectTimeoutError, ReadTimeoutError) as error:
            raise TimedOut from error
        except ClientError as error:
            raise NotTaken(_REFUSED.format(code=error.response["Error"]["Code"])) from error
        except BotoCoreError as error:
            raise Unreachable(type(error).__name__) from error
        if answer.get("FailedEntryCount"):
            raise NotTaken(_REFUSED.format(code=answer["Entries"][0].get("ErrorCode", "unknown")))

    def _client(self, region: str) -> Any:
        if region not in self._clients:
            config = Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=TOTAL_SECONDS - CONNECT_SECONDS,
                retries={"total_max_attempts": 1},
                max_pool_connections=AT_ONCE,
            )
            self._clients[region] = boto3.session.Session().client("events", region_name=region, config=config)
        return self._clients[region]


def _parts(arn: str) -> tuple[str, str]:
    """``arn:aws:events:REGION::event-source/SOURCE``: region and source."""
    _, _, _, region, _, resource = arn.split(":", 5)
    return region, resource.removeprefix("event-source/")
