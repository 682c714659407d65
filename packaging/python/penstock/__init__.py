"""penstock: captures, compiles and runs unmodified PyTorch programs.

The command is the interface: `python -m penstock --help`. In a Python that runs already, and in notebooks:

    import penstock
    penstock.start()            # functions that are called from here on are compiled, as `penstock run` does
    print(penstock.report())    # what became of them
    penstock.stop()             # calls are plain Python's again

    model = penstock.load("model.pstk")    # what `penstock export` wrote; without torch: see penstock.model

    %load_ext penstock          # then %%penstock in front of a cell: see penstock.notebook
"""

from penstock.model import load
from penstock.session import PenstockError, report, start, stop

__all__ = ["PenstockError", "load", "load_ipython_extension", "report", "start", "stop", "unload_ipython_extension"]


def load_ipython_extension(shell):
    """What `%load_ext penstock` calls."""
    from penstock import notebook
    notebook.load(shell)


def unload_ipython_extension(shell):
    from penstock import notebook
    notebook.unload(shell)
