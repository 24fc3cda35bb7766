"""What buyers see of the sending of their orders."""
