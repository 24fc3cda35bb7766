"""The API reference for app developers: pages below ``/docs/api/``, generated from the OpenAPI document.

Three files have the content that is not in the document: the groups and introductions of the pages
(``resources.toml``), the cause and fix of every error (``errors.toml``), and real requests and responses from the demo
store (``examples.json``, written by ``make examples``).
"""
