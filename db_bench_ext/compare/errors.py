"""The errors of a comparison, each one line that says what, where, what to do."""


class CompareError(Exception):
    """Ends the comparison; finished cells are kept."""


class CellError(Exception):
    """Spoils one cell; the others go on."""
