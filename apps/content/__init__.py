"""The content of shops: blogs, articles, themes, files, script tags and mobile apps."""
