"""Every record of the document format, field by field: the one table that the JSON Schemas and
penstock-graph(5) are made from (scripts/format_docs.py).

A field is (name, type, meaning); a name that ends with ? may be left out. Types:
    text integer flag number any      a JSON string, integer, boolean, number, anything
    size                              an integer, or an expression over symbols as text
    id hash                           "0/0", "1/20", "0/0_1"; 32 hexadecimal digits
    a|b|c                             one of these words
    [TYPE]                            a list
    RECORD                            a record of this table, by its name
    argument, named_argument          see ARGUMENT_FORMS
"""

VERSION = (1, 2)

# The argument forms: exactly one of these keys stands in an argument record.
ARGUMENT_FORMS = [
    ("value", "value_name", "a value of the graph, by name; at loops and kernels, by number"),
    ("const", "plain", "None (null), a bool, int, finite float or str, or a list of such"),
    ("sym", "text", "a symbolic integer: \"2*s0+1\""),
    ("dtype", "text", "a torch.dtype: \"float32\""),
    ("f", "nan|inf|-inf", "a float that is not finite"),
    ("list", "[argument]", "a list that `const` cannot hold"),
    ("tuple", "[argument]", "a tuple"),
    ("slice", "[argument]", "a slice: start, stop, step"),
    ("dict", "[dict_item]", "a dict, in insertion order"),
    ("device", "text", "a torch.device: \"cpu\""),
    ("layout", "text", "a torch.layout: \"strided\""),
    ("memory_format", "text", "a torch.memory_format: \"channels_last\""),
    ("object", "text", "any other object that has a name: \"torch.nn.functional.relu\""),
    ("complex", "[float]", "real and imaginary part"),
    ("bytes", "text", "bytes, in hexadecimal"),
    ("str_bytes", "text", "a str that is no UTF-8, its bytes in hexadecimal"),
    ("ellipsis", "flag", "true: the object ..."),
]

RECORDS = {
    "dict_item": ("An item of a dict.", [
        ("key", "argument", "the key"),
        ("item", "argument", "what stands under it"),
    ]),
    "location": ("A place in the Python source.", [
        ("file", "text", "from behind site-packages or lib/pythonX.Y, else relative to the program's "
                         "folder, else from its outermost package, else its name; the absolute "
                         "path stands in meta, under files"),
        ("line", "integer", "from 1; 0: unknown"),
        ("column?", "integer", "in bytes, from 0; -1: unknown"),
        ("end_line?", "integer", "last line"),
        ("end_column?", "integer", "behind the last byte"),
    ]),
    "type": ("A tensor without its elements. Sizes, strides and offset count elements.", [
        ("dtype", "text", "\"float32\", as torch calls it"),
        ("sizes", "[size]", "one per dimension"),
        ("strides", "[size]", "one per dimension"),
        ("offset?", "size", "of the first element in the storage; left out: 0"),
        ("device?", "text", "left out: \"cpu\""),
        ("storage?", "integer", "tensors of one graph with the same number share memory; left out: "
                                "memory of its own"),
        ("requires_grad?", "flag", "left out: false"),
    ]),
    "slot": ("Where a variable of the frame stands.", [
        ("source", "text", "a local variable or cell: \"L['x']\""),
        ("slot", "integer", "its position in the frame's localsplus"),
    ]),
    "symbol": ("A symbolic size.", [
        ("name", "text", "\"s0\""),
        ("source?", "text", "where its value is read; left out: it is made by a node"),
        ("minimum?", "integer", "least value"),
        ("maximum?", "integer", "greatest value; left out: no bound"),
        ("hint?", "integer", "the value at capture; no stage builds it in without a guard"),
    ]),
    "input": ("What the graph is called with.", [
        ("name", "text", "of the value, too"),
        ("kind", "user|parameter|buffer|constant|size|scalar|generator|tangent|saved", "what it is in the program"),
        ("source?", "text", "the path to it from the frame: \"L['self']._modules['fc'].weight\"; left "
                            "out for constants"),
        ("type", "type", "size and scalar: no dimensions, int64 or float64"),
        ("value?", "text", "name of the value, where it is not the input's"),
        ("scalar?", "size", "the integer that it is, for inputs of kind size"),
    ]),
    "alias": ("The memory that an output is a view of.", [
        ("input?", "integer", "position of the input"),
        ("output?", "integer", "position of the other output"),
    ]),
    "output": ("What the graph gives.", [
        ("type", "type", "as recorded"),
        ("alias?", "alias", "left out: memory of its own"),
        ("value?", "text", "torch, core, placed: the value"),
        ("buffer?", "integer", "loops, kernels: the buffer that holds it"),
    ]),
    "mutation": ("An input that the graph changes.", [
        ("input", "integer", "position of the input"),
        ("output", "integer", "position of the output whose elements it receives at the end"),
    ]),
    "tangent": ("An input with which backward is called.", [
        ("input", "integer", "position of the input, of kind tangent"),
        ("output", "integer", "position of the output whose gradient it is; of a backward graph: the forward graph's"),
    ]),
    "gradient": ("An output that is a gradient.", [
        ("input", "integer", "position of the input whose gradient it is; of a backward graph: the forward graph's"),
        ("output", "integer", "position of the output"),
    ]),
    "saved": ("An input of a backward graph that its forward graph has computed.", [
        ("input", "integer", "position of the input"),
        ("output", "integer", "position among the forward graph's outputs"),
    ]),
    "passed": ("An input that a backward graph shares with its forward graph.", [
        ("input", "integer", "position of the input"),
        ("forward", "integer", "position among the forward graph's inputs"),
    ]),
    "guard": ("A fact that must hold for the entry to be used, in checking order.", [
        ("kind", "@guards", "what is checked"),
        ("source?", "text", "of what"),
        ("other?", "text", "the other side, where two objects are compared"),
        ("expected?", "argument", "what it must be; left out: None"),
        ("tensor?", "type", "kind tensor; a symbol is bound where it first stands alone"),
        ("condition?", "text", "kind condition: \"s0 == 4\", \"2*s0+1 <= s1\""),
        ("location?", "location", "the line that needed the fact"),
    ]),
    "recipe": ("How an object of the program is made real behind the graph.", [
        ("kind", "output|source|literal|symbol|list|tuple|dict|set|frozenset|slice|instance|function|"
                 "cell|method|call|object", "what it is"),
        ("index?", "integer", "output: of the graph; object: in objects; cell: the slot of the "
                             "frame's own cell"),
        ("source?", "text", "what stood there when the segment started"),
        ("literal?", "argument", "the object itself"),
        ("expression?", "size", "a symbolic integer"),
        ("items?", "[recipe]", "dict: key, value, key, value …; instance: the type (of a dict's subclass "
                               "then a dict of its items), then name, value …; "
                               "function: code, globals (None: the frame's), name, defaults, "
                               "kwdefaults, annotations, "
                               "closure; cell: its content or nothing; method: function, self; call: "
                               "what is called, then its arguments"),
    ]),
    "restore": ("One thing that is done when the graph has run, in program order.", [
        ("kind", "local|unbind|stack|result|cell|set_attribute|delete_attribute|set_item|delete_item|"
                 "set_global|delete_global|append|extend|insert|pop|clear|update|add|remove|contents",
         "what is done"),
        ("index?", "integer", "slot of a local, cell or stack entry"),
        ("name?", "text", "of a variable, attribute or global"),
        ("target?", "recipe", "to what"),
        ("key?", "recipe", "of an item"),
        ("value?", "recipe", "with what"),
    ]),
    "ends": ("Where the segment stops.", [
        ("kind", "returned|broke|loop|raised", "why"),
        ("offset?", "integer", "code unit at which the frame goes on"),
        ("code?", "text", "of the break"),
    ]),
    "inlined_frame": ("A frame of an inlined function that is made real behind the graph.", [
        ("name", "text", "qualified name of the function"),
        ("function", "recipe", "the function"),
        ("offset", "integer", "code unit at which the frame stands"),
        ("location?", "location", "of that"),
        ("restore", "[restore]", "its variables and stack"),
    ]),
    "frame": ("A frame of the Python stack.", [
        ("function", "text", "its qualified name"),
        ("location", "location", "of what it was executing"),
    ]),
    "call": ("A public call as the program wrote it; kept at every level, for reports.", [
        ("opcode", "text", "call_function or call_method"),
        ("name", "text", "unique: \"truediv_1\""),
        ("target", "text", "\"operator.truediv\", \"torch.relu\", \"add_\""),
        ("args", "[argument]", "positional"),
        ("kwargs", "[named_argument]", "by name"),
        ("stack?", "[frame]", "outermost first"),
        ("result?", "argument", "what it gave"),
        ("checkpoint?", "integer", "the activation checkpoint that it ran in; one of target \"torch.utils.checkpoint.checkpoint\" begins it"),
    ]),
    "result": ("A value that a node makes.", [
        ("name", "text", "unique in the graph"),
        ("type?", "type", "of a tensor"),
        ("scalar?", "size", "an integer instead of a tensor"),
    ]),
    "node": ("An op applied to values. Nodes stand in execution order.", [
        ("op", "text", "\"aten.NAME.OVERLOAD\" or \"prim.NAME\""),
        ("args", "[named_argument]", "by schema name; what stands at its default may be left out"),
        ("results", "[result]", "none for an effect, several for a multi-output op"),
        ("call?", "integer", "position in calls; left out: a pass made it"),
    ]),
    "subgraph": ("What a node runs or not, as the graph decides while it runs. It has the symbols and guards of the "
                 "graph around it.", [
        ("name", "text", "as nodes name it; unique in the graph around it"),
        ("inputs", "[input]", "the node's operands; kind user, or the kind of the graph's input that is the operand"),
        ("outputs", "[output]", "the node's results"),
        ("calls", "[call]", "as the program wrote them"),
        ("nodes", "[node]", "as the graph's; none writes an input or draws random numbers"),
        ("regions?", "[region]", "level placed, where they are there always"),
        ("subgraphs?", "[subgraph]", "of its nodes"),
    ]),
    "region": ("A run of neighbouring nodes that one party executes.", [
        ("placement", "compiled|library|fallback", "our kernels, a library, torch itself"),
        ("first", "integer", "its first node"),
        ("last", "integer", "behind its last node"),
        ("inputs", "[text]", "values from outside, in order of first use"),
        ("outputs", "[text]", "values that others use"),
        ("reason?", "text", "why; fallback regions always say"),
    ]),
    "buffer": ("A strided window on memory. Sizes, strides and offset count elements.", [
        ("name", "text", "for people"),
        ("kind", "input|output|constant|temporary|view|scratch|prepared",
         "whose memory it is; scratch: of one thread while it runs a kernel; prepared: made of parameters "
         "and kept between runs"),
        ("dtype", "text", "of its elements"),
        ("sizes", "[size]", "one per dimension"),
        ("strides", "[size]", "one per dimension"),
        ("index?", "integer", "number of the input or output"),
        ("base?", "integer", "view: the buffer whose memory it looks at"),
        ("offset?", "size", "of the first element; left out: 0"),
        ("arena_offset?", "size", "temporary: bytes into the arena; scratch: into the kernel's scratch "
                                  "memory; prepared: into what is kept; left out: 0"),
        ("bytes?", "size", "length of the memory; left out: 0"),
        ("host?", "flag", "of a program for a device: an input of one element in the host's memory"),
    ]),
    "instruction": ("One step of a kernel's body.", [
        ("op", "text", "load, store, constant, index, or the arithmetic of a prim: \"add\""),
        ("dtype", "text", "of the result; store: of what is stored"),
        ("result?", "integer", "number of the scalar that it makes; store makes none"),
        ("operands?", "[integer]", "scalars"),
        ("buffer?", "integer", "load, store: the buffer"),
        ("index?", "size", "load, store: the element; index: the integer. Over sizes, loop variables "
                           "(\"i0\") and integer scalars (\"v12\")"),
        ("immediate?", "argument", "constant: the number; load: what a masked-out lane gets"),
    ]),
    "schedule": ("How a loop is run; edit it freely, the result stays the same.", [
        ("parallel?", "flag", "iterations may be split among threads"),
        ("grain?", "integer", "least iterations per thread"),
        ("vectorize?", "flag", "several iterations in one vector"),
        ("tile?", "integer", "iterations per block; blocks go in front of the loops around; "
                             "0: none, and always with accumulators"),
        ("unroll?", "integer", "vectors per step"),
        ("bind?", "text", "on a device, whose threads take the iterations: global_x global_y global_z, those of the grid along "
                          "that dim; thread_x, those of one block; left out: each thread runs all"),
    ]),
    "accumulator": ("A value carried through a loop.", [
        ("op", "text", "sum prod amax amin any all argmax argmin welford"),
        ("dtype", "text", "it is kept in"),
        ("value", "integer", "the scalar that each iteration gives"),
        ("results", "[integer]", "scalars that hold the outcome"),
    ]),
    "loop": ("for VARIABLE in [0, extent): body.", [
        ("loop", "text", "the variable, unique in the kernel: \"i0\""),
        ("extent", "size", "number of iterations"),
        ("schedule", "schedule", "how it is run"),
        ("accumulators?", "[accumulator]", "with any, the loop is a reduction"),
        ("body", "[statement]", "instructions and inner loops"),
    ]),
    "loop_kernel": ("A step of level loops: a fused loop nest.", [
        ("kind", "kernel", ""),
        ("name", "text", "its number and main ops: \"k0_add_gelu\""),
        ("body", "[statement]", "instructions and loops"),
        ("calls", "[integer]", "the calls that it computes"),
        ("reason?", "text", "what was fused, and why"),
        ("block?", "[integer]", "on a device: threads of a block along x and y; left out: one"),
    ]),
    "kernel_call": ("A step of level kernels: a call of a function of the machine code.", [
        ("kind", "kernel", ""),
        ("name", "text", "of the loop kernel"),
        ("function", "text", "symbol in the code; kernels of equal structure share one"),
        ("buffers", "[integer]", "its buffers, in its order"),
        ("extent", "size", "iterations of the outermost loop"),
        ("parallel?", "flag", "iterations may be split among threads"),
        ("grain?", "integer", "least iterations per thread"),
        ("scratch_bytes?", "integer", "memory per thread"),
        ("flops?", "size", "of one run"),
        ("bytes?", "size", "moved in one run"),
        ("calls", "[integer]", "the calls that it computes"),
        ("launch?", "launch", "on a device: how it is started"),
    ]),
    "launch": ("How a device starts a kernel.", [
        ("grid", "[size]", "blocks along x, y and z; fewer give the same"),
        ("block", "[integer]", "threads of a block along x and y"),
    ]),
    "post_op": ("Work that a library does on its result.", [
        ("kind", "relu|gelu_erf|gelu_tanh|silu|hardswish|hardsigmoid|sigmoid|tanh|clamp|scale|add|mul|"
                 "sum", "what"),
        ("alpha?", "float", "clamp: lower bound; scale: factor"),
        ("beta?", "float", "clamp: upper bound"),
        ("operand?", "integer", "add, mul: the buffer"),
    ]),
    "library_call": ("A step that a library executes.", [
        ("kind", "library", ""),
        ("name", "text", "\"matmul\", \"convolution\" …"),
        ("op", "text", "the op that it came from"),
        ("inputs", "[integer]", "buffers; -1: an optional one that is absent"),
        ("outputs", "[integer]", "buffers"),
        ("attributes", "[named_argument]", "stride, padding …"),
        ("post_ops", "[post_op]", "in order"),
        ("prepack", "[integer]", "positions in inputs that may be packed once"),
        ("calls", "[integer]", "the calls that it computes"),
    ]),
    "fallback_call": ("A step that torch executes, in process only.", [
        ("kind", "fallback", ""),
        ("op", "text", "the op"),
        ("arguments", "[named_argument]", "a value is the number of a buffer"),
        ("outputs", "[integer]", "buffers"),
        ("calls", "[integer]", "the calls that it computes"),
        ("reason", "text", "why it is not ours"),
    ]),
    "code": ("Machine code for one kind of processor.", [
        ("target", "text", "\"x86-64-v3\""),
        ("features", "[text]", "that the processor must have"),
        ("hash?", "hash", "XXH3-128 of its bytes, as the blob of use code has it; left out in version 1.0"),
        ("format?", "text", "of a device's code: \"ptx\", text for its driver, or \"cubin\"; left out: an ELF shared object"),
    ]),
    "blob": ("A reference to the store.", [
        ("use", "input|output|buffer|code", "what has the data"),
        ("index", "integer", "which of them"),
        ("hash", "hash", "name of the blob: XXH3-128 of its bytes"),
    ]),
    "failed_guard": ("A guard that did not hold.", [
        ("kind", "@guards", "what was checked"),
        ("source", "text", "of what"),
        ("text", "text", "the guard as reports print it"),
        ("expected", "text", "what it should have been"),
        ("actual", "text", "what it was"),
        ("location?", "location", "the line that needed the fact"),
        ("hint?", "text", "what would avoid it"),
    ]),
    "missed_entry": ("An entry that did not fit.", [
        ("id", "id", "of the entry"),
        ("failed", "[failed_guard]", "why"),
    ]),
    "count": ("A number with a name.", [
        ("name", "text", "\"graphs\", \"breaks\", \"total_ops\" …"),
        ("count", "integer", "how many"),
    ]),
    "entry_calls": ("How often an entry was used.", [
        ("id", "id", "of the entry"),
        ("count", "integer", "calls, the first included, without those that plain Python ran"),
        ("gate?", "off|open|accepted|refused",
         "whether it is faster than plain Python; open: too few calls were measured"),
    ]),
    "compared": ("An output beside the recorded one.", [
        ("index", "integer", "of the output, or of the mutation"),
        ("mutation?", "flag", "true: a mutated input"),
        ("error", "float", "max|a-b| / (max|b| + 1e-6)"),
        ("same", "flag", "within the tolerance"),
        ("reason?", "text", "what differs, when it is no number"),
    ]),
}

INTERFACE = [
    ("level", "@level", "of the graph"),
    ("id", "id", "[frame/recompile], with _restart"),
    ("name", "text", "qualified name of the function"),
    ("location?", "location", "first line of the segment"),
    ("after?", "id", "the segment before it in the same frame"),
    ("start?", "integer", "code unit at which the segment starts; left out: 0, the frame's start"),
    ("slots?", "[slot]", "of the variables that sources name"),
    ("symbols?", "[symbol]", "symbolic sizes"),
    ("inputs", "[input]", "in order; input i is value i"),
    ("outputs", "[output]", "in order"),
    ("mutations?", "[mutation]", "inputs that change"),
    ("tangents?", "[tangent]", "inputs that are gradients of outputs"),
    ("gradients?", "[gradient]", "outputs that are gradients of inputs; an input that is not named gets none"),
    ("role?", "inference|forward|backward", "left out: inference, also of a graph that has its gradients in it"),
    ("saved?", "[saved]", "backward: inputs that the forward graph computed"),
    ("passed?", "[passed]", "backward: inputs that are the forward graph's, too"),
    ("guards?", "[guard]", "in checking order"),
    ("objects?", "[recipe]", "objects that several recipes share"),
    ("returns?", "recipe", "what the function returns, for `run --outputs` and export"),
    ("restore?", "[restore]", "what is put back into the frame and the world"),
    ("ends", "ends", "where the segment stops"),
    ("frames?", "[inlined_frame]", "of inlined functions in which it stops, outermost first"),
    ("calls", "[call]", "as the program wrote them"),
    ("blobs?", "[blob]", "tensors and code; left out by --no-tensors"),
]

LEVELS = {
    "torch": [("nodes", "[node]", "ATen overloads; mutation and views may appear"),
              ("subgraphs?", "[subgraph]", "what nodes run or not (prim.cond, prim.while_loop, prim.scan), or are differentiated by (prim.custom_vjp)")],
    "core": [("nodes", "[node]", "prims and opaque ATen ops; functional"),
             ("subgraphs?", "[subgraph]", "what nodes run or not (prim.cond, prim.while_loop, prim.scan), or are differentiated by (prim.custom_vjp)")],
    "placed": [("nodes", "[node]", "as at core, region by region"),
               ("role", "inference|forward|backward", "as above, and never left out"),
               ("regions", "[region]", "they cover the nodes, one behind the other"),
               ("subgraphs?", "[subgraph]", "what nodes run or not (prim.cond, prim.while_loop, prim.scan), or are differentiated by (prim.custom_vjp)")],
    "loops": [("buffers", "[buffer]", "numbered from 0"),
              ("steps", "[loop_step]", "in order"),
              ("arena_bytes", "size", "length of the arena that temporaries lie in"),
              ("device?", "text", "where buffers lie and kernels run: \"cuda:0\"; left out: the CPU")],
    "kernels": [("abi", "integer", "version of the kernels' calling convention"),
                ("target", "text", "what the code was made for"),
                ("features", "[text]", "that the processor must have"),
                ("code", "[code]", "machine code, best first; the bytes are blobs"),
                ("symbol_order", "[text]", "how the values of symbols are handed to kernels"),
                ("buffers", "[buffer]", "numbered from 0"),
                ("steps", "[kernel_step]", "in order"),
                ("arena_bytes", "size", "length of the arena that temporaries lie in"),
                ("device?", "text", "as of level loops"),
                ("seal", "text", "hash of the code's hashes and of what the code relies on: inputs, "
                                 "mutations, symbols, buffers, steps, sizes; a document that was edited afterwards "
                                 "is refused; \"none\" where it was made of a document of version 1.0 "
                                 "that had no seal")],
}

UNIONS = {
    "statement": ["loop", "instruction"],
    "loop_step": ["loop_kernel", "library_call", "fallback_call"],
    "kernel_step": ["kernel_call", "library_call", "fallback_call"],
}

DOCUMENTS = {
    "program": ("First document of a stream: what was run.", [
        ("argv", "[text]", "the program, relative to its folder, and its arguments"),
        ("settings", "[named_argument]", "options that decide the outcome"),
    ]),
    "break": ("An instruction after which a segment had to end.", [
        ("code", "text", "see penstock-diagnostics(7)"),
        ("location?", "location", "of the instruction"),
        ("after", "id", "the segment that ends there"),
        ("reason", "text", "why"),
        ("hint?", "text", "what to do"),
        ("rule?", "text", "the rule on callables that decided; see penstock-rules(5)"),
    ]),
    "skip": ("A frame that is not captured.", [
        ("code", "text", "see penstock-diagnostics(7)"),
        ("name", "text", "qualified name of the function"),
        ("location?", "location", "of the function"),
        ("rule?", "text", "the rule that decided"),
        ("reason", "text", "why"),
        ("bypass?", "flag", "true: penstock gave the frame up, a defect"),
    ]),
    "recompile": ("A call that none of a segment's entries fitted.", [
        ("frame", "integer", "number of the segment"),
        ("id?", "id", "of the entry that it led to; left out: none was made"),
        ("limit?", "flag", "true: the segment has its full number of entries"),
        ("entries", "[missed_entry]", "most recently used first"),
    ]),
    "restart": ("An analysis that started over.", [
        ("id", "id", "of the entry"),
        ("reason", "text", "the assumption that was wrong"),
        ("location?", "location", "where that came out"),
    ]),
    "backend": ("What came of a graph and a compiler that is not penstock's; the last one of the two holds.", [
        ("id", "id", "of the entry"),
        ("backend", "text", "the back end's name; see penstock-backend(7)"),
        ("backend_version?", "text", "as it says"),
        ("outcome", "runs|slower|untried|missing|declined|crashed|hung|failed|differs|changed",
         "runs: it runs the calls; changed: what it was compiled for holds no more"),
        ("reason?", "text", "why it does not run them"),
    ]),
    "result": ("What came of running one graph on its recorded inputs.", [
        ("id", "id", "of the graph"),
        ("name", "text", "qualified name of the function"),
        ("verdict", "same|differs|ran|unsupported|failed", "ran: nothing was compared"),
        ("tolerance", "float", "greatest relative error that counts as same"),
        ("compared", "[compared]", "outputs and mutated inputs"),
        ("code?", "text", "unsupported, failed: of the diagnostic"),
        ("reason?", "text", "and its sentence"),
    ]),
    "end": ("Last document of a stream; a stream without it was cut off.", [
        ("counts", "[count]", "of documents and ops"),
        ("calls", "[entry_calls]", "per entry"),
        ("status", "integer", "exit status of the program"),
        ("signal?", "integer", "that ended it"),
    ]),
}
