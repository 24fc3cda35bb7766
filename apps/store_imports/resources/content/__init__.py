"""Import the blogs of the online store with their articles and comments, and the themes with their files."""
