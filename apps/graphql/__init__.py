"""The GraphQL kit: one endpoint, a schema per API version, and limits for each document.

An app with GraphQL fields has a module ``graphql``, which is autodiscovered when the first schema is built. The module
registers classes of fields with ``registry.query`` and ``registry.mutation``, and types for ``node(id:)`` with
``registry.node``. Differences between versions are declared at the field (``registry.version_metadata``), as in REST.
"""
