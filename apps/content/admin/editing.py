"""What browser forms do to texts, undone: they send every line end as CR LF, whatever it was."""


def as_before(before: str, sent: str) -> str:
    """The text of a form with the line ends of the text that the form was made of; unedited text stays as it was."""
    plain = sent.replace("\r\n", "\n")
    if plain == before.replace("\r\n", "\n").replace("\r", "\n"):
        return before
    return plain.replace("\n", "\r\n") if before.count("\r\n") * 2 > before.count("\n") else plain
