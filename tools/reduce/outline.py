"""Prints where a program can be cut, as JSON: `penstock reduce` runs this with the program's file as its argument.

statements  [begin, end, parent, block, alone]: a statement's bytes; the statement around it, or -1; which block it stands
            in; whether nothing else stands on its lines
edits       lists of [begin, end, text], what each list says at once: what makes the program simpler where a statement
            stays: a statement's body in its place, an operand in the place of an expression, a smaller number

Status 1, and nothing is printed, where the program is none.
"""

import ast
import json
import sys

MOST_EDITS = 4000
LOOSE = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.UnaryOp)  # wants brackets in another expression


class Outline:
    def __init__(self, source: bytes):
        self.source = source
        self.tree = ast.parse(source)
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.statements, self.edits = [], []
        self.numbers = {}
        self.blocks = 0
        for block in blocks_of(self.tree):
            self.add_block(block, -1)
        self.add_numbers()

    def place(self, line: int, column: int) -> int:
        return self.lines[line - 1] + column

    def span(self, node) -> tuple[int, int]:
        first = min([node, *getattr(node, "decorator_list", [])], key=lambda part: (part.lineno, part.col_offset))
        begin = self.place(first.lineno, first.col_offset)
        if first is not node:
            begin = self.source.rindex(b"@", 0, begin)
        return begin, self.place(node.end_lineno, node.end_col_offset)

    def add_block(self, block: list, parent: int) -> None:
        number, self.blocks = self.blocks, self.blocks + 1
        for node in block:
            begin, end = self.span(node)
            before = self.source[self.source.rfind(b"\n", 0, begin) + 1:begin]
            stop = self.source.find(b"\n", end)
            behind = self.source[end:stop if stop >= 0 else None].strip()
            alone = not before.strip() and (not behind or behind.startswith(b"#"))
            index = len(self.statements)
            self.statements.append([begin, end, parent, number, alone])
            if alone and isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
                self.edit([begin, end, self.body_of(node, before)])
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, (ast.expr, ast.withitem)):
                    self.simplify(inner)
            for inner in blocks_of(node):
                self.add_block(inner, index)

    def body_of(self, node, indent: bytes) -> bytes:
        """The statement's body, moved to where the statement stands."""
        found = []
        for inner in node.body:
            first, last = self.span(inner)
            deeper = first - self.source.rfind(b"\n", 0, first) - 1
            text = self.source[first:last].split(b"\n")
            found.append(b"\n".join([text[0], *(indent + line[deeper:] if not line[:deeper].strip() else line for line in text[1:])]))
        return (b"\n" + indent).join(found)

    def simplify(self, node) -> None:
        if isinstance(node, ast.JoinedStr):
            return  # before Python 3.12 nobody says where its parts stand
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
            self.numbers.setdefault(node.value, []).append(self.span(node))
        parts = []
        if isinstance(node, ast.Call):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            parts += [node.func.value] if isinstance(node.func, ast.Attribute) else []
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, (ast.Subscript, ast.UnaryOp)):
            parts = [node.value if isinstance(node, ast.Subscript) else node.operand]
        for part in parts:
            if not isinstance(part, (ast.Starred, ast.Constant)):
                first, last = self.span(part)
                self.edit([*self.span(node), b"(" + self.source[first:last] + b")" if isinstance(part, LOOSE) else self.source[first:last]])
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, (ast.expr, ast.keyword, ast.comprehension)):
                self.simplify(inner)

    def add_numbers(self) -> None:
        """All sizes at once, then every number wherever it stands, then each place alone."""
        large = [(value, span) for value, spans in self.numbers.items() if value >= 4 for span in spans]
        if large and all(value % 2 == 0 for value, _ in large):
            self.edit(*([*span, str(value // 2).encode()] for value, span in large))
        for value, spans in sorted(self.numbers.items(), reverse=True):
            for less in sorted({1, 2, value // 2} - {value}):
                self.edit(*([*span, str(less).encode()] for span in spans))
        for value, spans in sorted(self.numbers.items(), reverse=True):
            for span in spans if len(spans) > 1 else []:
                self.edit([*span, b"1"])
                self.edit([*span, str(value // 2).encode()])

    def edit(self, *parts: list) -> None:
        if len(self.edits) < MOST_EDITS:
            self.edits.append([[begin, end, text.decode()] for begin, end, text in parts])


def blocks_of(node):
    """The lists of statements right below a statement."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        value = getattr(node, field, None)
        if not isinstance(value, list) or not value:
            continue
        if isinstance(value[0], ast.stmt):
            yield value
        else:
            for part in value:  # an `except` or a `case`
                yield from blocks_of(part)


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        source = file.read()
    try:
        source.decode()
        outline = Outline(source)
        compile(source, "program", "exec")
    except (SyntaxError, ValueError, RecursionError):
        sys.exit(1)
    json.dump({"statements": outline.statements, "edits": outline.edits}, sys.stdout)


main()
