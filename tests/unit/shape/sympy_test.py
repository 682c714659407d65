"""The simplifier and the prover against sympy: random expressions of sizes.

Usage: sympy_test.py EXPRESSIONS
Canonical forms are equal to sympy's expanded polynomials; what is simplified has the same value at random points of
the ranges; what is proven, and the bounds, hold at them, and where sympy decides a comparison of polynomials on the
ranges' corners, no answer contradicts it.
"""
import random
import subprocess
import sys

import sympy

RANGES = {"s0": (2, None), "s1": (2, None), "s2": (2, 64), "i": (0, 7), "j": (0, 31)}
SYMBOLS = {name: sympy.Symbol(name, integer=True) for name in RANGES}
FUNCTIONS = {"floordiv": lambda a, b: sympy.floor(a / b), "mod": lambda a, b: a - b * sympy.floor(a / b),
             "min": sympy.Min, "max": sympy.Max}


def polynomial(random_, depth):
    if depth == 0:
        return random_.choice([*RANGES, str(random_.randint(0, 9))])
    left, right = polynomial(random_, depth - 1), polynomial(random_, random_.randint(0, depth - 1))
    return f"({left} {random_.choice('+-*')} {right})"


def expression(random_, depth):
    if depth == 0:
        return random_.choice([*RANGES, *RANGES, str(random_.randint(0, 20))])
    left, right = expression(random_, depth - 1), expression(random_, random_.randint(0, depth - 1))
    kind = random_.choice(["+", "-", "*", "*", "//", "%", "min", "max"])
    if kind in "//%":
        divisor = random_.choice(["s0", "s1", "s2", "2", "3", "8", "(8*s0)", "(s1*s2)"])
        return f"({left} {kind} {divisor})"
    return f"{kind}({left}, {right})" if kind in ("min", "max") else f"({left} {kind} {right})"


def point(random_):
    return {name: random_.randint(low, high if high is not None else random_.choice([low, low + 1, 9, 100, 5000]) + low)
            for name, (low, high) in RANGES.items()}


def value(text, at):
    """Of our text, by Python's own arithmetic."""
    names = {"floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "min": min, "max": max}
    return eval(text, {"__builtins__": {}}, {**names, **at})


def ask(tool, questions, assumed=()):
    ranges = [f"range {name} {low} {'-' if high is None else high}" for name, (low, high) in RANGES.items()]
    given = [*ranges, *("assume " + one for one in assumed), *questions]
    done = subprocess.run([tool], input="\n".join(given) + "\n", capture_output=True, text=True, check=True, timeout=60)
    answers = done.stdout.splitlines()
    assert len(answers) == len(questions), (len(answers), len(questions))
    return answers


def main():
    random_ = random.Random(7)
    polynomials = [polynomial(random_, random_.randint(1, 4)) for _ in range(150)]
    for text, answer in zip(polynomials, ask(sys.argv[1], ["text " + p for p in polynomials])):
        ours, theirs = sympy.sympify(answer, locals=SYMBOLS), sympy.sympify(text, locals=SYMBOLS)
        assert sympy.expand(ours - theirs) == 0, (text, answer)

    texts = [expression(random_, random_.randint(1, 4)) for _ in range(400)]
    points = [point(random_) for _ in range(40)]
    simplified = ask(sys.argv[1], ["simplify " + t for t in texts])
    shorter = 0
    for text, answer in zip(texts, simplified):
        assert not answer.startswith("error"), (text, answer)
        assert all(value(text, at) == value(answer, at) for at in points), (text, answer)
        shorter += answer.count("floordiv") + answer.count("mod") < text.count("//") + text.count("%")
    assert shorter >= 40, f"only {shorter} expressions got simpler"
    for text, answer in list(zip(texts, simplified))[:60]:
        theirs = sympy.sympify(text.replace("//", "/").replace("min(", "Min(").replace("max(", "Max("), locals=SYMBOLS) \
            if "//" not in text and "%" not in text else None
        if theirs is not None and not theirs.has(sympy.Min, sympy.Max):
            ours = sympy.sympify(answer, locals={**SYMBOLS, **FUNCTIONS})
            assert sympy.expand(ours - theirs) == 0, (text, answer)

    for text, answer in zip(texts, ask(sys.argv[1], ["bounds " + t for t in texts])):
        low, high = answer.split()
        for at in points:
            assert low == "-" or int(low) <= value(text, at), (text, answer, at)
            assert high == "-" or value(text, at) <= int(high), (text, answer, at)

    relations = {"equal": lambda a, b: a == b, "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b}
    asked = [(random_.choice(list(relations)), a, random_.choice([b, f"({a} + {random_.randint(0, 3)})"]))
             for a, b in zip(texts, texts[1:])]
    decided = 0
    for (relation, a, b), answer in zip(asked, ask(sys.argv[1], [f"{r} {a} ; {b}" for r, a, b in asked])):
        if answer == "unknown":
            continue
        decided += 1
        for at in points:
            assert relations[relation](value(a, at), value(b, at)) == (answer == "true"), (relation, a, b, answer, at)
        difference = sympy.expand(sympy.sympify(a, locals=SYMBOLS) - sympy.sympify(b, locals=SYMBOLS)) \
            if not any(word in a + b for word in ("//", "%", "min", "max")) else None
        if difference is not None and difference.is_number:
            assert relations[relation](difference, 0) == (answer == "true"), (relation, a, b, answer)
    assert decided >= 60, f"only {decided} comparisons were decided"
    check_assumptions(random_, relations)


def check_assumptions(random_, relations):
    """What is known of sizes beside their ranges decides more, and nothing wrongly."""
    decided = more = 0
    for _ in range(60):
        assumed = [f"({expression(random_, 1)} - {expression(random_, random_.randint(0, 1))} + {random_.randint(-3, 3)})"
                   for _ in range(random_.randint(1, 3))]
        points = [at for at in (point(random_) for _ in range(600)) if all(value(one, at) >= 0 for one in assumed)]
        if len(points) < 20:
            continue
        asked = []
        for _ in range(25):
            # Near what is assumed, so that it can be decided: a multiple of it, and something beside it.
            times, beside = random_.choice(["1", "2", "s1", "(i + 1)", "s0"]), expression(random_, random_.randint(0, 1))
            asked.append((random_.choice(list(relations)), f"(0 - {beside})", f"({times}*{random_.choice(assumed)})"))
        questions = [f"{r} {a} ; {b}" for r, a, b in asked]
        with_them, without = ask(sys.argv[1], questions, assumed), ask(sys.argv[1], questions)
        for (relation, a, b), answer, alone in zip(asked, with_them, without):
            if answer == "unknown":
                assert alone == "unknown", (assumed, relation, a, b, alone)
                continue
            decided += 1
            more += alone == "unknown"
            for at in points:
                assert relations[relation](value(a, at), value(b, at)) == (answer == "true"), (assumed, relation, a, b, answer, at)
    assert decided >= 150 and more >= 60, f"{decided} comparisons were decided, {more} by what is assumed"


if __name__ == "__main__":
    main()
