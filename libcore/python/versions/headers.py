"""Prints `3NN DIRECTORY` for the Python that runs it: its minor version and where its C headers are, CPython's
internal ones among them. Exits with 1 where there are none, or where it is no Python that we know."""

import pathlib
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
minor = "{}{}".format(*sys.version_info[:2])
directory = pathlib.Path(sysconfig.get_path("include"))
if not (HERE / f"py{minor}.def").exists() or sys.implementation.name != "cpython":
    sys.exit(1)
if sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_DEBUG"):
    sys.exit(1)
if not (directory / "internal" / "pycore_frame.h").exists():
    sys.exit(1)
print(minor, directory)
