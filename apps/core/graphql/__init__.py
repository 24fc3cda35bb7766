"""The GraphQL API: one endpoint, a schema per API version, and limits for each document.

Apps with GraphQL fields have a module ``graphql``, which is autodiscovered when the first schema is built. The module
registers classes with root fields (``registry.queries`` and ``registry.mutations``) and types for ``node(id:)``
(``registry.nodes``). As in REST, if only some API versions have a field, the field declares these
versions (``registry.version_metadata``).
"""
