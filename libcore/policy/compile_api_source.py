"""What takes the calls of torch.compile and its kin (compile_api.cpp says which).

A handler gets the arguments of the call; UNSERVED leaves it to torch. The three functions that are named
in compile_api.cpp (compiled, compiled_fullgraph, disabled) mark regions: the walker knows their code. The
build makes this file a string constant.
"""

import functools
import os
import sys
import types

UNSERVED = object()
# RUNS_BACKENDS is set from outside: graphs can be compiled by functions of the program's.
BACKENDS = ("inductor", "eager", "aot_eager")  # of one meaning: they differ in what runs, not in results
MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")


def innermost(fn):
    while getattr(fn, "_torchdynamo_wrapper_id", None) == id(fn):
        fn = fn._torchdynamo_orig_callable
    return fn


def mark(wrapper, fn):
    wrapper._torchdynamo_orig_callable = fn
    wrapper._torchdynamo_wrapper_id = id(wrapper)
    return wrapper


def enclose(fn, kind, dynamic=None, backend=None):
    if kind == "disabled":
        @functools.wraps(fn)
        def disabled(*args, **kwargs):
            return fn(*args, **kwargs)
        disabled._torchdynamo_disable = True
        disabled._torchdynamo_disable_msg = None
        disabled._torchdynamo_disable_recursive = True
        disabled.__dict__.pop("_region_backend", None)
        return mark(disabled, fn)
    if kind == "fullgraph":
        @functools.wraps(fn)
        def compiled_fullgraph(*args, **kwargs):
            return fn(*args, **kwargs)
        wrapper = compiled_fullgraph
    else:
        @functools.wraps(fn)
        def compiled(*args, **kwargs):
            return fn(*args, **kwargs)
        wrapper = compiled
    wrapper._torchdynamo_inline = fn
    wrapper.get_compiler_config = dict
    if dynamic is not None:
        wrapper._region_dynamic = bool(dynamic)
    wrapper.__dict__.pop("_region_backend", None)
    if backend is not None:
        wrapper._region_backend = backend
    return mark(wrapper, fn)


def wrap(fn, kind, dynamic=None, backend=None):
    fn = innermost(fn)
    if isinstance(fn, sys.modules["torch"].nn.Module):
        return mark(optimized_module()(fn, kind, dynamic, backend), fn.forward)
    if isinstance(fn, type):
        if kind == "disabled":
            fn.__init__ = enclose(fn.__init__, kind)
        fn.__call__ = enclose(fn.__call__, kind, dynamic, backend)
        if issubclass(fn, sys.modules["torch"].nn.Module):
            fn._call_impl = enclose(fn._call_impl, kind, dynamic, backend)
        return fn
    return enclose(fn, kind, dynamic, backend)


@functools.cache
def optimized_module():
    torch = sys.modules["torch"]

    def is_own(module, name):
        return hasattr(type(module), name) or name in OptimizedModule._opt_mod_attributes

    class OptimizedModule(torch.nn.Module):
        """Wraps the original nn.Module object and calls it as a compiled region."""

        _opt_mod_attributes = {"_orig_mod", "_region_kind", "_region_dynamic", "_region_backend",
                               "_torchdynamo_orig_callable", "_torchdynamo_wrapper_id", "get_compiler_config", "forward", "_forward",
                               "__dict__", "_super_module_initialized"}

        def __init__(self, mod, kind, dynamic, backend):
            object.__setattr__(self, "_orig_mod", mod)
            self._super_module_initialized = False
            super(OptimizedModule, self).__init__()
            self._super_module_initialized = True
            self._orig_mod = mod
            self._region_kind = kind
            self._region_dynamic = dynamic
            self._region_backend = backend
            self.get_compiler_config = dict
            self._initialize()
            self.training = mod.training

        def _initialize(self):
            self.forward = enclose(self._orig_mod.__call__, self._region_kind, self._region_dynamic, self._region_backend)
            if hasattr(self._orig_mod, "_initialize_hook"):
                self._forward = self.forward
                self.forward = self._call_lazy_check

        # isinstance(…, torch._dynamo.eval_frame.OptimizedModule), where that is imported. A class that
        # has this cannot call super() without arguments.
        @property
        def __class__(self):
            module = sys.modules.get("torch._dynamo.eval_frame")
            return getattr(module, "OptimizedModule", OptimizedModule)

        def __len__(self):
            if hasattr(type(self._orig_mod), "__len__"):
                return len(self._orig_mod)
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

        def __call__(self, *args, **kwargs):
            global_hooks = torch.nn.modules.module._has_any_global_hook()
            if global_hooks or self._forward_hooks or self._forward_pre_hooks or self._backward_hooks \
                    or self._backward_pre_hooks:
                return super(OptimizedModule, self).__call__(*args, **kwargs)
            return self.forward(*args, **kwargs)

        # Pickled by what can be imported everywhere, with penstock or without.
        def __reduce__(self):
            if self._region_kind == "disabled":
                return torch.compiler.disable, (self._orig_mod,)
            given = {"fullgraph": self._region_kind == "fullgraph" or None, "dynamic": self._region_dynamic,
                     "backend": self._region_backend}
            given = {name: value for name, value in given.items() if value is not None}
            return functools.partial(torch.compile, **given), (self._orig_mod,)

        def __getstate__(self):
            state = dict(self.__dict__)
            state.pop("forward", None)
            state.pop("__call__", None)
            return state

        def __setstate__(self, state):
            self.__dict__ = state
            self._initialize()

        @property
        def training(self):
            return self._orig_mod.training

        @training.setter
        def training(self, value):
            if self._super_module_initialized:
                self._orig_mod.training = value

        def __getattr__(self, name):
            if name == "_orig_mod":
                return self._modules["_orig_mod"]
            return getattr(self._orig_mod, name)

        def __setattr__(self, name, value):
            if is_own(self, name):
                return super(OptimizedModule, self).__setattr__(name, value)
            return setattr(self._orig_mod, name, value)

        def __delattr__(self, name):
            if is_own(self, name):
                return super(OptimizedModule, self).__delattr__(name)
            return delattr(self._orig_mod, name)

        def _call_lazy_check(self, *args, **kwargs):
            if hasattr(self._orig_mod, "_initialize_hook"):
                # Its first call is not compiled: it makes the parameters.
                self._orig_mod._infer_parameters(self._orig_mod, args, kwargs)
            self.forward = self._forward
            return self.forward(*args, **kwargs)

        def __dir__(self):
            given = self._orig_mod.__dir__()
            return given + [name for name in super(OptimizedModule, self).__dir__() if name not in given]

    OptimizedModule.__module__ = "torch._dynamo.eval_frame"
    OptimizedModule.__qualname__ = "OptimizedModule"
    return OptimizedModule


def find_backend(backend, **keywords):
    """None where penstock compiles graphs, the program's function where one does, or UNSERVED."""
    if os.environ.get("TORCHDYNAMO_DISABLE", "") == "1":
        return UNSERVED
    if isinstance(backend, str):
        if backend in BACKENDS:
            return None
        if not RUNS_BACKENDS:
            return UNSERVED
        try:
            from torch._dynamo.backends.registry import lookup_backend
            backend = lookup_backend(backend)
        except Exception:
            return UNSERVED  # torch says what is wrong with it
    if not RUNS_BACKENDS or not callable(backend):
        return UNSERVED
    if type(backend).__module__ == "torch" and type(backend).__name__.startswith("_TorchCompile"):
        return UNSERVED  # torch.compile's own, which was left to torch already
    if hasattr(backend, "backend_ctx_ctor"):
        return UNSERVED  # it asks for a context around every call
    keywords = {name: value for name, value in keywords.items() if value and value != "default"}
    if not keywords:
        return backend
    bound = functools.partial(backend, **keywords)
    bound._penstock_own = backend
    return bound


def is_operator(caller):
    """True for one of torch's higher-order operators (cond, map, scan …). What is left of them to torch is TorchDynamo's:
    it says what their functions may not do, and their code for gradients takes its graphs."""
    module = caller.f_globals.get("__name__", "")
    return module == "torch.nn.attention.flex_attention" or module.startswith("torch._higher_order_ops.")


# Arguments, some of newer versions of torch, that concern torch's own compiler alone: which of its guards it keeps, how
# often it starts anew.
OF_TORCH_ALONE = {"recompile_limit", "isolate_recompiles", "guard_filter_fn", "error_on_graph_break",
                  "export_constraints"}


def asks_for_more(others):
    """True where an argument that is not known here is given."""
    return any(value is not None and value is not False for name, value in others.items() if name not in OF_TORCH_ALONE)


def resolve_default(backend):
    """What None stands for where torch.compile's default is None, which a program can set."""
    defaults = getattr(sys.modules["torch"].compile, "__kwdefaults__", None) or {}
    if backend is not None or defaults.get("backend", "") is not None:
        return backend
    registry = sys.modules.get("torch._dynamo.backends.registry")
    return registry.get_default_backend() if hasattr(registry, "get_default_backend") else "inductor"


def has_dynamic_spec(model):
    """True where the program's own decorator says which sizes vary."""
    spec = sys.modules.get("torch.fx.experimental.dynamic_spec")
    resolve = getattr(spec, "_resolve_dynamic_shapes", None)
    return resolve is not None and resolve(model, None) is not None


def compile(model, fullgraph, dynamic, backend, mode, options, disable, name=None, **others):
    if not callable(model) or disable or asks_for_more(others) or has_dynamic_spec(model):
        return UNSERVED
    torch = sys.modules["torch"]
    backend = resolve_default(backend)
    if torch.compiler.is_exporting() or is_operator(sys._getframe(1)):
        return UNSERVED
    if mode is not None and options is not None:
        return UNSERVED
    found = find_backend(backend, mode=mode, options=options, name=name)
    if found is UNSERVED:
        return found
    if found is None and mode not in MODES:
        return UNSERVED
    if found is None and options:
        if backend != "inductor" or options.get("use_aoti"):
            return UNSERVED
        options.pop("guard_filter_fn", None)
        torch._TorchCompileInductorWrapper(None, options, dynamic)  # complains about unknown ones
    return wrap(model, "fullgraph" if fullgraph else "compiled", dynamic, found)


class Context:
    """What torch._dynamo.optimize() and its kin return: a decorator."""

    def __enter__(self):
        raise RuntimeError("torch._dynamo.optimize(...) is used with a context manager. "
                           "Please refer to https://pytorch.org/tutorials/intermediate/torch_compile_tutorial.html "
                           "to use torch._dynamo.optimize(...) as an annotation/decorator. ")

    def __exit__(self, *error):
        return None


class Optimize(Context):
    def __init__(self, kind, dynamic, backend):
        self.kind, self.dynamic, self.backend = kind, dynamic, backend

    def __call__(self, fn):
        return wrap(fn, self.kind, self.dynamic, self.backend)


def optimize(rebuild_ctx, backend, nopython, disable, dynamic=None, guard_export_fn=None, guard_fail_fn=None,
             package=None, **others):
    if disable or guard_export_fn or guard_fail_fn or package or asks_for_more(others):
        return UNSERVED
    found = find_backend(backend)
    if found is UNSERVED:
        return found
    return Optimize("fullgraph" if nopython else "compiled", dynamic, found)


def optimize_assert(rebuild_ctx, backend, hooks, dynamic=None, export=False, package=None, **others):
    if export or package or hooks.guard_export_fn or hooks.guard_fail_fn or asks_for_more(others):
        return UNSERVED
    found = find_backend(backend)
    if found is UNSERVED:
        return found
    return Optimize("fullgraph", dynamic, found)


class Disable(Context):
    def __init__(self, recursive):
        self.recursive = recursive

    def __call__(self, fn):
        return disable_one(fn, self.recursive)


def disable_one(fn, recursive=True):
    if not recursive:
        fn = innermost(fn)
        fn._torchdynamo_disable = True
        return fn
    return wrap(fn, "disabled")


def disable(fn, recursive, reason=None, wrapping=True):
    if fn is None:
        return Disable(recursive)
    if not callable(fn) or not wrapping:
        return UNSERVED
    return disable_one(fn, recursive)


def allow_in_graph(fn):
    if "torch._dynamo" in sys.modules:
        return UNSERVED
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    if isinstance(fn, types.FunctionType):
        fn._penstock_in_graph = True  # dynamo_state.cpp reads it
    return fn


def assume_constant_result(fn):
    fn._dynamo_marked_constant = True
    return fn


def reset():
    return UNSERVED if "torch._dynamo" in sys.modules else None


def unsupported(kind, explanation, hint, file, line, name):
    import linecache
    import torch._dynamo.exc
    text = f"{kind}\n  Explanation: {explanation}\n  Hint: {hint}\n\n" \
        f"from user code:\n   File \"{file}\", line {line}, in {name}\n    {linecache.getline(file, line).strip()}\n"
    return torch._dynamo.exc.Unsupported(text, kind)
