"""What the webhook engine delivers, beside a floor of the same run."""
