"""Price rules, discount codes and the uses of codes."""
