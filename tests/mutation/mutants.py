"""Makes mutants of C++ source: small changes of meaning, found by tokens.

It relies on the format that clang-format gives: binary operators stand between
spaces, angle brackets of templates, pointers and references do not.
"""

import collections
import dataclasses
import hashlib
import re

TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<preprocessor>^[ \t]*\#(?:\\\n|[^\n])*)
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<char>'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?[0-9](?:[eE][+-](?=[0-9])|[.'\w])*)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<operator><<=|>>=|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
    | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

BINARY = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "&&": ["||"],
    "||": ["&&"],
    "+": ["-"],
    "-": ["+"],
    "*": ["+"],
    "/": ["*"],
    "%": ["/"],
    "&": ["|"],
    "|": ["&"],
    "^": ["|"],
    "<<": [">>"],
    ">>": ["<<"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["+="],
    "/=": ["*="],
    "%=": ["/="],
    "|=": ["&="],
    "&=": ["|="],
    "^=": ["|="],
    "<<=": [">>="],
    ">>=": ["<<="],
}
WORDS = {"true": ["false"], "false": ["true"], "min": ["max"], "max": ["min"]}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
# Mutants inside the parentheses of these words would not change what the
# program computes.
WITHOUT_MEANING = {
    "static_assert",
    "assert",
    "alignas",
    "__attribute__",
    "__builtin_prefetch",
    "reserve",
    "decltype",
    "noexcept",
}
NOT_AN_EXPRESSION = {
    "const",
    "constexpr",
    "static",
    "auto",
    "using",
    "typedef",
    "unsigned",
    "int",
    "bool",
    "char",
    "double",
    "float",
    "long",
    "template",
    "typename",
    "class",
    "struct",
    "enum",
    "friend",
    "public",
    "private",
    "protected",
    "extern",
    "goto",
    "throw",
    "delete",
    "asm",
    "thread_local",
    "namespace",
    "inline",
    "operator",
    "union",
    "volatile",
    "try",
    "catch",
}
DECLARATION = re.compile(r"[\w:]+(<.*?>)?[*&]*\s+[*&]*\w+\s*([=;{(\[]|$)")


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)


@dataclasses.dataclass
class Mutant:
    file: str
    start: int
    end: int
    replacement: str
    change: str  # the kind of change
    unit: str  # the function, or the constant, it is in
    is_function: bool
    line: int
    before: str  # the lines it touches, on one line with single spaces
    after: str
    ordinal: int = 0  # among those of a file that look the same

    @property
    def identity(self):
        text = "\0".join([self.file, self.unit, self.before, self.after, str(self.ordinal)])
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def tokens_of(source):
    """All tokens of meaning; comments, spaces and the preprocessor are left out."""
    return [
        Token(match.lastgroup, match.group(), match.start())
        for match in TOKEN.finditer(source)
        if match.lastgroup not in ("comment", "space", "preprocessor")
    ]


def partner(tokens, bracket):
    """The index of the bracket that belongs to the one at `bracket`, or the end."""
    text = tokens[bracket].text
    other = {"(": ")", "{": "}", "[": "]", ")": "("}[text]
    depth = 0
    for i in range(bracket, -1, -1) if text == ")" else range(bracket, len(tokens)):
        depth += (tokens[i].text == text) - (tokens[i].text == other)
        if depth == 0:
            return i
    return len(tokens) - 1


def name_of_declaration(head):
    """(kind, name) of what the tokens before a brace or a semicolon declare."""
    if len(head) > 1 and head[0].text == "template":
        depth = 0
        for i in range(1, len(head)):
            depth += {"<": 1, ">": -1, ">>": -2}.get(head[i].text, 0)
            if depth <= 0:
                return name_of_declaration(head[i + 1 :])
    texts = [token.text for token in head]
    names = lambda some: [text for text in some if re.match(r"[A-Za-z_]", text)] or [""]
    if "namespace" in texts or texts[:2] == ["extern", '"C"']:
        return "namespace", ""
    if "enum" in texts:
        return "enum", texts[-1]
    before_equals = texts[: texts.index("=")] if "=" in texts else texts
    if "(" in before_equals:
        at = before_equals.index("(")
        if at and before_equals[at - 1] == "__attribute__":  # __attribute__((...)) type name(...)
            return name_of_declaration(head[partner(head, at) + 1 :])
        name = before_equals[at - 1] if at else ""
        return "function", "operator" if "operator" in before_equals else name
    for word in ("class", "struct", "union"):
        if word in texts and "=" not in texts:
            return "class", names(texts[texts.index(word) + 1 :])[0]
    return "data", names(before_equals)[-1]


def units_of(tokens):
    """For each token what it belongs to, as (name, is_function, in_body), or None."""
    units = [None] * len(tokens)
    stack = []  # names of classes and namespaces around

    def walk(i, end, in_class):
        head = i
        while i < end:
            text = tokens[i].text
            if in_class and text in ("public", "private", "protected"):
                i = head = i + 2
                continue
            if text in ("(", "{"):
                close = partner(tokens, i)
            if text == "(":
                i = close
            elif text == ";":
                texts = [token.text for token in tokens[head:i]]
                kind, name = name_of_declaration(tokens[head:i])
                if (
                    (not in_class or "constexpr" in texts)
                    and "=" in texts
                    and kind in ("data", "function")
                ):
                    mark(head, i, name, False)
                head = i + 1
            elif text == "{":
                kind, name = name_of_declaration(tokens[head:i])
                initialises = (
                    close + 1 < end
                    and tokens[close + 1].text in (",", "{")
                    and any(token.text == ":" for token in tokens[head:i])
                )
                if kind in ("namespace", "class"):
                    stack.append(name if kind == "class" else "")
                    walk(i + 1, close, kind == "class")
                    stack.pop()
                    head = close + 1
                elif kind == "function" and not initialises:
                    mark(head, close + 1, name, True, body=i)
                    head = close + 1
                i = close
            i += 1

    def mark(start, end, name, is_function, body=None):
        qualified = "::".join([*(part for part in stack if part), name])
        for k in range(start, end):
            units[k] = (qualified, is_function, body is not None and k > body)

    walk(0, len(tokens), False)
    return units


def other_numbers(text):
    """Literals next to the one in `text`."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F']+|[0-9']+)([uUlL]*)", text)
    if match:
        digits, suffix = match.group(1).replace("'", ""), match.group(2)
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        value = int(digits, 8 if octal else 0)
        results = [value + 1] + ([value - 1] if value > 0 else [])
        return [(f"0x{v:x}" if digits[:2] in ("0x", "0X") else str(v)) + suffix for v in results]
    match = re.fullmatch(r"([0-9']*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)([fFlL]?)", text)
    if match and match.group(1):
        value = float(match.group(1).replace("'", ""))
        return [repr(value * 1.25 if value else 1.0) + match.group(2)]
    return []


class Maker:
    """The mutants of one file."""

    def __init__(self, file, source):
        self.file = file
        self.source = source
        self.tokens = tokens_of(source)
        self.units = units_of(self.tokens)
        self.silent = self.without_meaning()
        self.mutants = []

    def without_meaning(self):
        silent = [False] * len(self.tokens)
        for i, token in enumerate(self.tokens[:-1]):
            if token.text in WITHOUT_MEANING and self.tokens[i + 1].text == "(":
                for k in range(i, partner(self.tokens, i + 1) + 1):
                    silent[k] = True
            if token.text == "__builtin_expect":
                # The number says how likely it is.
                silent[partner(self.tokens, i + 1) - 1] = True
            if token.text == "template" and self.tokens[i + 1].text == "<":
                k = i + 1
                while self.tokens[k].text not in (">", ">>", ";", "{"):
                    silent[k] = True
                    k += 1
        return silent

    def add(self, i, start, end, replacement, change):
        if self.units[i] is None or self.silent[i]:
            return
        name, is_function, _ = self.units[i]
        first = self.source.rfind("\n", 0, start) + 1
        last = self.source.find("\n", end)
        last = len(self.source) if last < 0 else last
        before = self.source[first:last]
        after = self.source[first:start] + replacement + self.source[end:last]
        normal = lambda text: " ".join(text.split())
        self.mutants.append(
            Mutant(
                self.file,
                start,
                end,
                replacement,
                change,
                name,
                is_function,
                self.source.count("\n", 0, start) + 1,
                normal(before),
                normal(after),
            )
        )

    def spaced(self, token):
        before = self.source[token.start - 1]
        after = self.source[token.end : token.end + 1]
        return before.isspace() and after.isspace()

    def make(self):
        for i, token in enumerate(self.tokens):
            if token.kind == "operator":
                self.mutate_operator(i, token)
            elif token.kind == "number":
                for number in other_numbers(token.text):
                    self.add(i, token.start, token.end, number, "constant")
            elif token.kind == "word":
                before = self.tokens[i - 1].text
                if before == "::" if token.text in ("min", "max") else before != "return":
                    for word in WORDS.get(token.text, []):
                        self.add(i, token.start, token.end, word, "constant")
            if self.begins_statement(i):
                self.mutate_statement(i, token)
        seen = collections.Counter()
        for mutant in self.mutants:
            key = (mutant.unit, mutant.before, mutant.after)
            mutant.ordinal = seen[key]
            seen[key] += 1
        return self.mutants

    def mutate_operator(self, i, token):
        others = []
        change = "operator"
        if token.text in ("++", "--"):
            others, change = ["--" if token.text == "++" else "++"], "arithmetic"
        elif token.text in ("!", "~") or (token.text == "-" and not self.spaced(token)):
            others, change = [""], f"removed {token.text}"
        elif self.spaced(token):
            others = BINARY.get(token.text, [])
        for other in others:
            self.add(i, token.start, token.end, other, change)

    def begins_statement(self, i):
        if i == 0 or self.units[i] is None or not self.units[i][2]:
            return False
        previous = self.tokens[i - 1].text
        if previous in (";", "{", "}", "else", "do"):
            return True
        if previous == ":":
            return self.source[self.tokens[i - 1].end] == "\n" and "?" not in self.line_of(i - 1)
        return previous == ")" and self.tokens[partner(self.tokens, i - 1) - 1].text in (
            "if",
            "for",
            "while",
            "constexpr",
        )

    def line_of(self, i):
        start = self.source.rfind("\n", 0, self.tokens[i].start) + 1
        return self.source[start : self.source.find("\n", start)]

    def end_of_statement(self, i):
        """The index of its semicolon, or None if it is no statement."""
        while i < len(self.tokens) and self.tokens[i].text not in (")", "]", "}", ","):
            if self.tokens[i].text == ";":
                return i
            i = (partner(self.tokens, i) if self.tokens[i].text in ("(", "[", "{") else i) + 1
        return None

    def mutate_statement(self, i, token):
        if token.text == "if":
            return self.mutate_condition(i)
        if (
            token.kind != "word"
            and token.text not in ("++", "--", "*", "(")
            or token.text in ("for", "while", "switch", "else", "do", "case", "default")
        ):
            return None
        end = self.end_of_statement(i)
        if end is None:
            return None
        start, stop = token.start, self.tokens[end].start
        text = self.source[start:stop]
        texts = {t.text for t in self.tokens[i:end]}
        if token.text == "return":
            self.mutate_return(i, start, stop, text)
        elif token.text in ("break", "continue") or (
            token.text not in NOT_AN_EXPRESSION
            and not DECLARATION.match(text)
            and texts & {"(", "++", "--", *ASSIGNMENTS}
        ):
            self.add(i, start, stop, "", "removed statement")
        return None

    def mutate_return(self, i, start, stop, text):
        value = text[len("return") :].strip()
        if value in ("true", "false"):
            other = "false" if value == "true" else "true"
            self.add(i, start, stop, f"return {other}", "return value")
        elif value and value not in ("{}", "nullptr", "0"):
            self.add(i, start, stop, "return {}", "return value")
            call = re.fullmatch(r"_\w+\((\w+)\b.*\)", value, re.DOTALL)
            if call:  # an intrinsic
                self.add(i, start, stop, f"return {call.group(1)}", "return value")
        elif not value:
            self.add(i, start, stop, "", "removed statement")

    def mutate_condition(self, i):
        if self.tokens[i + 1].text != "(":
            return  # if constexpr
        close = partner(self.tokens, i + 1)
        start, stop = self.tokens[i + 1].end, self.tokens[close].start
        if not any(t.text in ("=", ";") for t in self.tokens[i + 2 : close]):
            for change, text in (
                ("negated condition", "!({})"),
                ("condition never", "({}) && false"),
                ("condition always", "({}) || true"),
            ):
                self.add(i, start, stop, text.format(self.source[start:stop]), change)


def mutants_of(file, source):
    return Maker(file, source).make()


def by_hand(file, source, before, after):
    """A change that no rule makes, of a text that the file has once."""
    start = source.find(before)
    if source.count(before) != 1:
        return print(f"by_hand.json: not once in {file}: {before}")
    return Mutant(
        file,
        start,
        start + len(before),
        after,
        "by hand",
        "by hand",
        True,
        source.count("\n", 0, start) + 1,
        before,
        after,
    )
