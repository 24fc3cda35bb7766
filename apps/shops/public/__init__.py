"""What people see of apps before they are in a shop's panel."""
