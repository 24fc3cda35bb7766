"""Blogs, articles, themes, files, script tags and mobile apps of shops."""
