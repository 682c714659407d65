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


# What CPython 3.12 and later say by another name or another argument (libcore/python/versions/reading.h).
RENAMED = {"POP_JUMP_IF_FALSE": "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_IF_TRUE": "POP_JUMP_FORWARD_IF_TRUE",
           "POP_JUMP_IF_NONE": "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_IF_NOT_NONE": "POP_JUMP_FORWARD_IF_NOT_NONE",
           "LOAD_FAST_CHECK": "LOAD_FAST", "LOAD_FAST_BORROW": "LOAD_FAST", "POP_ITER": "POP_TOP",
           "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST_LOAD_FAST"}
# Those with an argument that CPython 3.14 says by another instruction.
ABSORBED = {("BINARY_OP", 26): "BINARY_SUBSCR", ("LOAD_COMMON_CONSTANT", 0): "LOAD_ASSERTION_ERROR"}
INTRINSICS = {1: "PRINT_EXPR", 2: "IMPORT_STAR", 4: "ASYNC_GEN_WRAP", 5: "UNARY_POSITIVE", 6: "LIST_TO_TUPLE"}
FORMATS = {"FORMAT_SIMPLE": 0, "FORMAT_WITH_SPEC": 4}
NEW = sys.version_info >= (3, 12)
# The instructions behind the end of a loop and of a delegation that are not gone to.
JUMPS = set(dis.hasjrel) - {dis.opmap["END_ASYNC_FOR"]}  # its argument is for monitoring only
BEHIND_LOOP = 0 if not NEW else 1 if sys.version_info < (3, 13) else 2


def reading(name, argument):
    """The row of opcodes.def that says it, with its argument."""
    if not NEW:
        return name, argument
    if name == "LOAD_ATTR":
        return ("LOAD_METHOD" if argument & 1 else "LOAD_ATTR"), argument >> 1
    if name == "COMPARE_OP" and sys.version_info < (3, 13):
        return name, argument >> 4
    if name == "COMPARE_OP":
        return ("COMPARE_TO_BOOL" if argument & 16 else name), argument >> 5
    if name in FORMATS:
        return "FORMAT_VALUE", FORMATS[name]
    if (name, argument) in ABSORBED:
        return ABSORBED[name, argument], 0
    if name == "CALL_INTRINSIC_1" and argument in INTRINSICS:
        return INTRINSICS[argument], 0
    return RENAMED.get(name, name), argument


def expected_instructions(code):
    """dis.Instructions with what loads the names of a call's keywords folded into CALL, and PRECALL, prefixes into
    what they extend, and NOT_TAKEN into the jump in front of it."""
    start = names = None
    done = []
    for instruction in dis.get_instructions(code, show_caches=False):
        if instruction.opname == "NOT_TAKEN":
            continue
        if start is None:
            start = instruction.offset // 2
        if instruction.opname in ("EXTENDED_ARG", "PRECALL"):
            continue
        if instruction.opname == "KW_NAMES":
            names = instruction.arg
            continue
        name, argument = reading(instruction.opname, instruction.arg or 0)
        if name == "CALL_KW":
            name = "CALL"
            load = done.pop()
            start, names = load[2], load[1]
        if done and (name.startswith("POP_JUMP") and "NONE" not in name or name == "UNARY_NOT"):
            leaves = {"TO_BOOL": "NOP", "COMPARE_TO_BOOL": "COMPARE_OP"}  # what asks makes the bool
            done[-1] = (leaves.get(done[-1][0], done[-1][0]), *done[-1][1:])
        target = instruction.argval // 2 if instruction.opcode in JUMPS else -1
        if name == "FOR_ITER":
            target += BEHIND_LOOP
        elif name == "SEND":
            target += NEW
        place = instruction.positions
        done.append((name, argument, start, instruction.offset // 2, target,
                     -1 if names is None else names, place.lineno or 0, place.end_lineno or 0,
                     -1 if place.col_offset is None else place.col_offset,
                     -1 if place.end_col_offset is None else place.end_col_offset))
        start = names = None
    return done


def expected_handlers(code):
    return [(e.start // 2, e.end // 2, e.target // 2, e.depth, int(e.lasti))
            for e in dis._parse_exception_table(code)]


def takes_argument(name):
    return dis.opmap.get(name, dis.HAVE_ARGUMENT) >= dis.HAVE_ARGUMENT


def problems(code):
    instructions, handlers = penstock_harness.decode(code)
    seen = [(r[0], r[1] if takes_argument(r[0]) else 0, r[2], r[3], r[5], r[6], *r[8:]) for r in instructions]
    expected = expected_instructions(code)
    if seen != expected:
        yield "instructions", [pair for pair in zip(seen, expected) if pair[0] != pair[1]][:2]
    if handlers != expected_handlers(code):
        yield "handlers", handlers
    if any(depth > code.co_stacksize for depth in (r[7] for r in instructions)):
        yield "depths", code.co_stacksize
    starts = {r[2]: r for r in instructions}
    for r in instructions:
        ends = r[0] in ("RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "INTERPRETER_EXIT") or "JUMP_FORWARD" == r[0] or \
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
