"""Nightly checks of refunds and of the quantities that they change, and the repair of missing taxes."""
