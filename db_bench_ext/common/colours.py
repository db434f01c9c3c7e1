"""The one table of colours: a filter looks the same on every page."""

INK = "#333333"
MUTED = "#5f6c7b"
GRID = "#e3e8ee"

FILTERS = {
    "none": "#9aa5b1",
    "rocksdb-bloom": "#4c72b0",
    "rocksdb-bloom-native": "#64a4d8",
    "rocksdb-ribbon": "#8172b3",
    "leveldb-bloom": "#937860",
    "deltabloom-classic": "#dd8452",
    "deltabloom-local": "#c44e52",
    "deltabloom-compact": "#55a868",
    "deltabloom-compact-uniform": "#9ccc9c",
    "deltabloom": "#2f7f73",
    "rocksdb-bloom-prefix": "#b5498c",
    "rocksdb-bloom-capped": "#d98cba",
    "rocksdb-bloom-fixed": "#8f6bb3",
    "rocksdb-segments": "#3a86c8",
    "deltabloom-ranges": "#f4a261",
    "deltabloom-ranges-auto": "#1b7837",
    "deltabloom-leveldb": "#e3ab3c",
    # These are not filters that one could use.
    "theory": "#999999",
    "ideal": "#2a9d8f",
}


def of_filter(name):
    """Returns the colour of a filter by the name that a page gives it: "local" is
    deltabloom-local. A name without a colour gets INK."""
    return FILTERS.get(name) or FILTERS.get(f"deltabloom-{name}", INK)
