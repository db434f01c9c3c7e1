"""Tables of Markdown, and numbers in them."""


def table(header, rows, text_columns=1):
    """Columns of text, which come first, to the left, figures to the right."""
    figures = len(header) - text_columns
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * text_columns + "---:|" * figures]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(rate, digits=3):
    return "-" if rate is None else f"{100 * rate:.{digits}g}"
