"""Every instruction that the compiler of this Python writes, against the tables: its caches are those of opcode.py, a
row of opcodes.def says what it does, and capture has a rule for that row or the break is meant (BREAKS).

Instructions that do what their argument says are asked for with every argument that there is.
"""

import dis
import opcode
import sys

import penstock_harness

# The rows without a rule: a segment ends in front of what they do. No row may stand here that has one.
BREAKS = {
    # except*: groups are split and joined.
    "CHECK_EG_MATCH", "PREP_RERAISE_STAR", "CALL_INTRINSIC_2 INTRINSIC_PREP_RERAISE_STAR",
    # Coroutines and asynchronous generators: who awaits them is not known.
    "ASYNC_GEN_WRAP", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE",
    # A generator is made by its call, in front of its code, and resumed behind it; throw() ends a segment.
    "RETURN_GENERATOR", "CLEANUP_THROW",
    # Bodies of classes, whose names lie in a mapping, and what modules do once.
    "DELETE_GLOBAL", "DELETE_NAME", "IMPORT_STAR", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_LOCALS", "SETUP_ANNOTATIONS",
    # Only what is typed at a prompt has it.
    "PRINT_EXPR",
    # Type parameters and aliases: classes and functions that have them are made once.
    "CALL_INTRINSIC_1 INTRINSIC_TYPEVAR", "CALL_INTRINSIC_1 INTRINSIC_PARAMSPEC", "CALL_INTRINSIC_1 INTRINSIC_TYPEVARTUPLE",
    "CALL_INTRINSIC_1 INTRINSIC_SUBSCRIPT_GENERIC", "CALL_INTRINSIC_1 INTRINSIC_TYPEALIAS",
    "CALL_INTRINSIC_2 INTRINSIC_TYPEVAR_WITH_BOUND", "CALL_INTRINSIC_2 INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
    "CALL_INTRINSIC_2 INTRINSIC_SET_FUNCTION_TYPE_PARAMS", "CALL_INTRINSIC_2 INTRINSIC_SET_TYPEPARAM_DEFAULT",
    # Template strings, whose parts are objects of their own.
    "BUILD_INTERPOLATION", "BUILD_TEMPLATE",
}
# In opcode.py, but in no code that is compiled: what the interpreter itself writes or keeps free.
OF_THE_INTERPRETER = {"CACHE", "RESERVED", "DO_TRACING", "ENTER_EXECUTOR", "EXIT_INIT_CHECK", "INTERPRETER_EXIT"}
# Parts of the instruction behind or in front of them, and the end of a loop, which is gone past.
PARTS = {"EXTENDED_ARG", "KW_NAMES", "PRECALL", "NOT_TAKEN", "END_FOR"}
# Those in whose argument an instruction of its own stands: the names of what it may say.
MEANINGS = {
    "CALL_INTRINSIC_1": getattr(dis, "_intrinsic_1_descs", None), "CALL_INTRINSIC_2": getattr(dis, "_intrinsic_2_descs", None),
    "BINARY_OP": [name for name, _ in opcode._nb_ops], "LOAD_COMMON_CONSTANT": getattr(dis, "_common_constants", None),
    "LOAD_SPECIAL": getattr(dis, "_special_method_names", None), "COMPARE_OP": range(64), "LOAD_ATTR": range(2),
    "FORMAT_VALUE": range(8),
}
UNSAID = {"INTRINSIC_1_INVALID", "INTRINSIC_2_INVALID"}


def caches_of(name):
    known = getattr(opcode, "_inline_cache_entries", {})
    return known[opcode.opmap[name]] if isinstance(known, list) else known.get(name, 0)


def code_of(number, argument, caches):
    """Code that has the instruction behind the load of a call's keywords, and enough behind it for a jump to lead to."""
    operation = opcode.opmap
    units = [operation["LOAD_CONST"], 0, number, argument, *[0, 0] * caches, *[operation["NOP"], 0] * 4, operation["RETURN_VALUE"], 0]
    return code_of.__code__.replace(co_code=bytes(units), co_exceptiontable=b"")


def row_of(name, argument):
    """The row that the instruction is read as, or why there is none."""
    caches = caches_of(name)
    number = opcode.opmap[name]
    if number in dis.hasjrel and "BACKWARD" in name:
        argument = 1 + caches
    instructions, _ = penstock_harness.decode(code_of(number, argument, caches))
    found = [row for row in instructions if row[3] == 1]
    if not found:
        return None, "no row says what it does"
    if found[0][4] != 2 + caches:
        return None, f"{found[0][4] - 2} units of caches, not {caches}"
    return found[0][0], None


def problem(name, argument, meaning):
    row, wrong = row_of(name, argument)
    if wrong:
        return wrong
    said = f"{row} {meaning}" if row in ("CALL_INTRINSIC_1", "CALL_INTRINSIC_2") else row
    followed = penstock_harness.follows(row, argument)
    if followed == (said in BREAKS):
        return f"{said} has a rule, and is a break" if followed else f"{said} has no rule"
    return None


def main():
    passed, failed = 0, []
    for name, number in sorted(opcode.opmap.items()):
        if number > 255 or name.startswith("INSTRUMENTED_") or name in OF_THE_INTERPRETER | PARTS:
            continue
        for argument, meaning in enumerate(MEANINGS.get(name) or [0]):
            if meaning in UNSAID:
                continue
            wrong = problem(name, argument, meaning)
            passed += wrong is None
            failed += [f"{name} {argument}: {wrong}"] if wrong else []
    for line in failed:
        print("FAILED", line)
    print(f"{passed} passed, {len(failed)} failed")
    return bool(failed) or passed == 0


sys.exit(main())
