"""penstock: captures, compiles and runs unmodified PyTorch programs. The command is the interface: `python -m penstock --help`."""
