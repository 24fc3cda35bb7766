// In place of the library that the theme brings: our bars are HTML, and nothing draws with it.
