"""The GraphQL kit: one address, a schema for each API version, and the limits of what one document may ask.

An app that shows something has a module ``graphql``, found by its name when the first schema is made. It registers
classes of fields with ``registry.query`` and ``registry.mutation``, and types that ``node(id:)`` finds with
``registry.node``. What a version has or lacks stands beside the field (``registry.gated``), as in REST.
"""
