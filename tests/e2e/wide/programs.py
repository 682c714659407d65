"""Programs of the wide sweep by name: each gives a module or function and what it is called with."""

PROGRAMS = {}


def program(make):
    """Enters a function that gives (callable, arguments)."""
    PROGRAMS[make.__name__] = make
    return make
