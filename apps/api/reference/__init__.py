"""The reference for people who build apps: pages below ``/docs/api/``, made of the OpenAPI document.

What the document cannot know stands beside it: what the pages are about (``resources.toml``), the cause and cure of
every error (``errors.toml``), and real requests with their answers from the demo store (``examples.json``, which
``make examples`` writes).
"""
