"""Notebooks: `%load_ext penstock`, then

    %%penstock [OPTION...]          in front of a cell: the functions that it calls are compiled; its report stands below
    %penstock on [OPTION...]        the same for all cells from here on, without reports
    %penstock off
    %penstock report [FILE.html]    what became of all calls so far: in the notebook, or as a page of its own

OPTIONs are those of `penstock run` (--compile=now, --dynamic=all, ...: penstock-run(1)); the first ones hold until the kernel
restarts. A cell's own lines run as in a program's outermost code: what is compiled are the functions and modules it calls.

The line %%penstock is taken out before IPython reads the cell, which then runs as any other: its output, its exceptions,
their line numbers, `await`, and the names that it leaves are IPython's own business.
"""

import atexit
import html
import linecache
import os
import shlex
import shutil
import tempfile

from IPython.core.error import UsageError
from IPython.display import display

from penstock import session

MAGIC = "%%penstock"


def _frame(page: str, headline: str) -> str:
    """The page in a frame of its own, which can reach nothing of the notebook; folded up under its headline."""
    return (f"<details><summary><code>{html.escape(headline)}</code></summary>"
            f'<iframe sandbox="allow-scripts" style="width:100%;height:40em;border:1px solid #8886" srcdoc="{html.escape(page)}">'
            "</iframe></details>")


class Notebook:
    def __init__(self, shell):
        self.shell = shell
        self.stays = False  # %penstock on
        self.in_cell = False
        self.folder = None  # the cells' sources, for reports

    # -- what IPython calls

    def transform(self, lines: list[str]) -> list[str]:
        """`%%penstock OPTIONS` becomes a call in the same line, so that all others keep their numbers."""
        if not lines or lines[0].split(None, 1)[:1] != [MAGIC]:
            return lines
        options = lines[0][len(MAGIC):].strip()
        call = f"get_ipython().run_line_magic('penstock', {'cell ' + options!r})\n"
        return [call, *lines[1:]]

    def cell_ended(self, result) -> None:
        if not self.in_cell:
            return
        self.in_cell = False
        if not self.stays:
            session.stop()
        self.show(since=True)

    def magic(self, line: str) -> None:
        """%penstock on [OPTION...], off, report [FILE.html]; %%penstock [OPTION...] in front of a cell."""
        try:
            word, *words = shlex.split(line) or ["help"]
            actions = {"cell": self.begin_cell, "on": self.begin, "off": self.end, "report": self.report, "help": self.help}
            if word not in actions:
                raise session.PenstockError(f"%penstock has no '{word}': on, off, report and help are known; options of a cell "
                                            f"stand behind {MAGIC}")
            actions[word](*words)
        except (ValueError, session.PenstockError) as error:
            raise UsageError(str(error)) from None

    # -- what people ask for

    def begin_cell(self, *options: str) -> None:
        session.start(*options, name="notebook").ask("mark")
        self.in_cell = True

    def begin(self, *options: str) -> None:
        session.start(*options, name="notebook")
        self.stays = True

    def end(self) -> None:
        session.stop()
        self.stays = False

    def help(self) -> None:
        print(__doc__)

    def report(self, file: str | None = None) -> None:
        if file is None:
            self.show(since=False)
            return
        self.name_cells()
        page = session.report("html")
        with open(file, "w") as opened:
            opened.write(page)
        print(f"wrote {file}: {len(page) / 1e6:.1f} MB")

    def show(self, *, since: bool) -> None:
        self.name_cells()
        text = session.report(since=since)
        headline = text.partition("\n")[0].replace("notebook", "penstock", 1)
        display({"text/plain": text, "text/html": _frame(session.report("html", since=since), headline)}, raw=True)

    def name_cells(self) -> None:
        """Reports say In[3] where Python has a name that nobody knows, and show the cell's lines."""
        if session._session is None:
            return
        if self.folder is None:
            self.folder = tempfile.mkdtemp(prefix="penstock-")
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        names = {}
        for path, number in getattr(self.shell.compile, "_filename_map", {}).items():
            name = f"In[{number}]"
            copy = os.path.join(self.folder, name)
            names |= {path: copy, os.path.basename(path): name}
            with open(copy, "w") as source:
                source.writelines(linecache.getlines(path))
        session._session.ask("files", names=names)


_loaded: Notebook | None = None


def load(shell) -> None:
    global _loaded
    if session.runs_under_penstock():
        raise UsageError("`penstock run` started this kernel: its cells are compiled as they are. Start the kernel without it for "
                         "%%penstock")
    if _loaded is not None:
        return
    _loaded = Notebook(shell)
    shell.register_magic_function(_loaded.magic, magic_kind="line", magic_name="penstock")
    shell.input_transformers_cleanup.append(_loaded.transform)
    shell.events.register("post_run_cell", _loaded.cell_ended)


def unload(shell) -> None:
    global _loaded
    if _loaded is None:
        return
    session.stop()
    shell.input_transformers_cleanup.remove(_loaded.transform)
    shell.events.unregister("post_run_cell", _loaded.cell_ended)
    del shell.magics_manager.magics["line"]["penstock"]
    _loaded = None
