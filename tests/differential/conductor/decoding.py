"""Decoded code against CPython's own dis: every code object of a good part of the standard library.

Names, arguments, offsets, jump targets, source positions, exception table; and that the stack depths of
the static analysis never exceed co_stacksize and are known for every instruction that can be reached.
"""

import dis
import pathlib
import sys
import types

import penstock_harness

FOLDERS = ["", "asyncio", "json", "email", "logging", "unittest", "importlib", "concurrent/futures"]


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def expected_instructions(code):
    """dis.Instructions with KW_NAMES and PRECALL folded into CALL, prefixes into what they extend."""
    start = names = None
    rows = list(dis.get_instructions(code, show_caches=False))
    for instruction in rows:
        if start is None:
            start = instruction.offset // 2
        if instruction.opname in ("EXTENDED_ARG", "PRECALL"):
            continue
        if instruction.opname == "KW_NAMES":
            names = instruction.arg
            continue
        target = instruction.argval // 2 if instruction.opcode in dis.hasjrel else -1
        place = instruction.positions
        yield (instruction.opname, instruction.arg or 0, start, instruction.offset // 2, target,
               -1 if names is None else names, place.lineno or 0, place.end_lineno or 0,
               -1 if place.col_offset is None else place.col_offset,
               -1 if place.end_col_offset is None else place.end_col_offset)
        start = names = None


def expected_handlers(code):
    return [(e.start // 2, e.end // 2, e.target // 2, e.depth, int(e.lasti))
            for e in dis._parse_exception_table(code)]


def problems(code):
    instructions, handlers = penstock_harness.decode(code)
    seen = [(r[0], r[1] if r[3] is not None and dis.opmap[r[0]] >= dis.HAVE_ARGUMENT else 0, r[2], r[3], r[5], r[6],
             *r[8:]) for r in instructions]
    expected = list(expected_instructions(code))
    if seen != expected:
        yield "instructions", [pair for pair in zip(seen, expected) if pair[0] != pair[1]][:2]
    if handlers != expected_handlers(code):
        yield "handlers", handlers
    if any(depth > code.co_stacksize for depth in (r[7] for r in instructions)):
        yield "depths", code.co_stacksize
    starts = {r[2]: r for r in instructions}
    for r in instructions:
        ends = r[0] in ("RETURN_VALUE", "RERAISE", "RAISE_VARARGS") or "JUMP_FORWARD" == r[0] or \
            r[0].startswith("JUMP_BACKWARD")
        if r[7] >= 0 and not ends and starts[r[4]][7] < 0:
            yield "unreached", r


def main():
    library = pathlib.Path(dis.__file__).parent
    passed = failed = 0
    for folder in FOLDERS:
        for path in sorted((library / folder).glob("*.py")):
            try:
                module = compile(path.read_bytes(), str(path), "exec")
            except (SyntaxError, ValueError):
                continue
            for code in codes_of(module):
                found = list(problems(code))
                passed += not found
                failed += bool(found)
                if found and failed <= 5:
                    print(f"FAILED {path}:{code.co_firstlineno} {code.co_name}: {found}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


sys.exit(main())
