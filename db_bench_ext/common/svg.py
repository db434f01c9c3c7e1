"""SVG as matplotlib writes it, in a quarter of the bytes."""

import collections
import hashlib
import re

NUMBER = re.compile(r"-?\d+\.\d{2,}")
# Where a viewer has to take another font anyway, any will do.
FONTS = re.compile(r"'[^']*'(, *'[^']*')*, *sans-serif")
LONE = re.compile(r"<g>(<[^<>]+/>|<text[^<>]*>[^<]*</text>)</g>")


def shorter(match):
    """A tenth of a point is less than a screen shows."""
    text = f"{float(match[0]):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def with_classes(text):
    """Styles that are used again, once. A class is named by its style, since all
    pictures of a page share the names."""
    counts = collections.Counter(re.findall(r'style="([^"]*)"', text))
    names = {
        style: "s" + hashlib.blake2s(style.encode(), digest_size=3).hexdigest()
        for style, count in counts.items()
        if count > 1
    }

    def by_class(match):
        return f'class="{names[match[1]]}"' if match[1] in names else match[0]

    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    return re.sub(r'style="([^"]*)"', by_class, text).replace("</style>", rules + "</style>", 1)


def shortened(text):
    """The svg element of `text` with the same picture: numbers in its tags have
    one digit behind the point, names that nothing refers to are left out, and
    so are groups of one, comments, line ends and the metadata, which say who
    drew it."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    pairs = re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", text)
    used = {name for pair in pairs for name in pair}

    def tag(match):
        one = re.sub(r"\s+", " ", match[0])
        one = re.sub(r' id="([^"]+)"', lambda name: name[0] if name[1] in used else "", one)
        one = re.sub(r' transform="rotate\(-?0 [^"]*"', "", one)
        one = NUMBER.sub(shorter, FONTS.sub("sans-serif", one))
        one = re.sub(r'style="[^"]*"', lambda style: re.sub(r"([;:]) ", r"\1", style[0]), one)
        return one.replace(" />", "/>").replace(' "', '"')

    text = re.sub(r"<[^>]*>", tag, text)
    text = re.sub(r">\s+<", "><", text).replace("<g></g>", "")
    count = 1
    while count:
        text, count = LONE.subn(r"\1", text)
    text = with_classes(text)
    # Not one line of thousands of characters, for whoever compares two versions.
    return text.replace("<g><path", "\n<g><path").strip() + "\n"
