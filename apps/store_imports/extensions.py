from apps.store_imports.domain.streams import streams
from apps.store_imports.resources import STREAMS

for _stream in STREAMS:
    streams.add(_stream)
