"""Sample requests for script tags."""

from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories import ScriptTagFactory

TAG = {"script_tag": {"src": "https://scripts.example/a.js", "event": "onload"}}


def make_tag_id(world: SampleContext) -> Attrs:
    return {"id": ScriptTagFactory.create(shop=world.shop, app=world.installation.app).pk}


register_sample("GET script_tags.json", arrange=make_tag_id)
register_sample("POST script_tags.json", TAG, status=201)
register_sample("GET script_tags/count.json", arrange=make_tag_id)
register_sample("GET script_tags/<id>.json", arrange=make_tag_id)
register_sample("PUT script_tags/<id>.json", TAG, arrange=make_tag_id)
register_sample("DELETE script_tags/<id>.json", arrange=make_tag_id)
