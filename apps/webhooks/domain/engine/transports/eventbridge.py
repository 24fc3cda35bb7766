"""The Amazon EventBridge transport, which sends events from the app's partner event source.

The ARN of the event source contains the region. The detail of an event is ``{"payload": …, "metadata": …}``, with the
body and the headers of the delivery. boto3 finds the credentials in ``AWS_…`` variables or the machine's role.
"""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

from apps.core.http.async_client import CONNECT_SECONDS, TOTAL_SECONDS, Progress
from apps.core.http.errors import MessageRejected, TimedOut, Unreachable
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.models import deliveries

MAX_THREADS = 16


class EventBridgeTransport:
    """A transport with one client per region. boto3 blocks, so calls run in threads."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}
        self._threads = ThreadPoolExecutor(MAX_THREADS, "eventbridge")

    async def send(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        region, source = _split_arn(claim.uri)
        metadata = json.dumps(dict(headers)).encode()
        entry = {
            "Time": claim.triggered_at,
            "Source": source,
            "DetailType": claim.topic,
            "Detail": (b'{"payload":' + claim.body + b',"metadata":' + metadata + b"}").decode(),
        }
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._send, region, entry)
        finally:
            progress.ended = progress.now()

    async def close(self) -> None:
        """Discard calls that have not started yet."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _send(self, region: str, entry: Mapping[str, Any]) -> None:
        try:
            response = self._client(region).put_partner_events(Entries=[entry])
        except (ConnectTimeoutError, ReadTimeoutError) as error:
            raise TimedOut from error
        except ClientError as error:
            raise MessageRejected(deliveries.EVENTBRIDGE_REJECTED(code=error.response["Error"]["Code"])) from error
        except BotoCoreError as error:
            raise Unreachable(type(error).__name__) from error
        if response.get("FailedEntryCount"):
            code = response["Entries"][0].get("ErrorCode", "unknown")
            raise MessageRejected(deliveries.EVENTBRIDGE_REJECTED(code=code))

    def _client(self, region: str) -> Any:
        if region not in self._clients:
            config = Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=TOTAL_SECONDS - CONNECT_SECONDS,
                retries={"total_max_attempts": 1},
                max_pool_connections=MAX_THREADS,
            )
            self._clients[region] = boto3.session.Session().client("events", region_name=region, config=config)
        return self._clients[region]


def _split_arn(arn: str) -> tuple[str, str]:
    """Split ``arn:aws:events:REGION::event-source/SOURCE`` into region and source."""
    _, _, _, region, _, resource = arn.split(":", 5)
    return region, resource.removeprefix("event-source/")
