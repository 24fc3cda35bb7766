"""Requests for script tags."""

from typing import Any

from tests.factories import ScriptTagFactory
from tests.samples import World, sample

TAG = {"script_tag": {"src": "https://scripts.example/a.js", "event": "onload"}}


def one_tag(world: World) -> dict[str, Any]:
    return {"id": ScriptTagFactory.create(shop=world.shop, app=world.installation.app).pk}


sample("GET script_tags.json", arrange=one_tag)
sample("POST script_tags.json", TAG, status=201)
sample("GET script_tags/count.json", arrange=one_tag)
sample("GET script_tags/<id>.json", arrange=one_tag)
sample("PUT script_tags/<id>.json", TAG, arrange=one_tag)
sample("DELETE script_tags/<id>.json", arrange=one_tag)
