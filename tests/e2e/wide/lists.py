"""The wide sweep's models and programs by name: LIBRARY/NAME."""

import importlib

from wide import transformers_models, vision
from wide.programs import PROGRAMS

FAMILIES = ("recurrent", "spectral", "containers", "language", "tensors", "networks")


def names():
    for family in FAMILIES:
        importlib.import_module(f"wide.{family}")
    found = [f"transformers/{name}" for name in transformers_models.models()]
    found += [f"timm/{name}" for name in vision.timm_models()]
    found += [f"torchvision/{name}" for name in vision.TORCHVISION]
    return found + [f"programs/{name}" for name in PROGRAMS]


def build(library, name, torch):
    """(callable, args, kwargs)"""
    if library == "transformers":
        return transformers_models.build(name, torch)
    if library == "programs":
        for family in FAMILIES:
            importlib.import_module(f"wide.{family}")
        made, args = PROGRAMS[name]()
        return made.eval() if isinstance(made, torch.nn.Module) else made, args, {}
    return (vision.build_timm if library == "timm" else vision.build_torchvision)(name, torch)
