from tests.samples import register_resource
from tests.support.factories import ScriptTagFactory

TAG = {"script_tag": {"src": "https://scripts.example/a.js", "event": "onload"}}


register_resource(
    "script_tags",
    TAG,
    TAG,
    lambda world: {"id": ScriptTagFactory.create(shop=world.shop, app=world.installation.app).pk},
)
