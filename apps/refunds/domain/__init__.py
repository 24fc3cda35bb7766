"""The workflows of refunds, and the computations they stand on."""
