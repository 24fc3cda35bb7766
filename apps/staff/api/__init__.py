"""The staff as apps see them."""
