"""Payment handlers: the wallet configuration that a shop publishes for its checkout."""
