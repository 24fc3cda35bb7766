"""The API reference for app developers: pages under ``/docs/api/``, generated from the OpenAPI document.

Three files add content that the document does not have: the groups and introductions of the pages (``resources.toml``),
the cause and fix of every error (``errors.toml``), and real requests and responses from the demo shop
(``examples.json``, written by ``make examples``).
"""
