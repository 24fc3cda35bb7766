"""The GraphQL kit: one endpoint, a schema per API version, and limits for each document.

An app with GraphQL fields has a module ``graphql``, which is autodiscovered when the first schema is built. The module
registers classes of fields with ``registry.register_queries`` and ``registry.register_mutations``, and types for
``node(id:)`` with ``registry.register_node``. Differences between versions are declared at the field
(``registry.version_metadata``), as in REST.
"""
