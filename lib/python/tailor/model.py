# SPDX-License-Identifier: Apache-2.0
"""Models: load, look at, optimize, save, run, verify, explain."""
import ctypes
import logging
import os
import threading
import warnings
from ctypes import byref, c_void_p

from tailor import arrays, errors, options as option_table, results
from tailor import _library as native
from tailor._library import lib

FORMS = {'onnx': 0, 'air': 1}
SEVERITIES = ('note', 'warning', 'error')
log = logging.getLogger('tailor')


def _decoded(text):
    return text.decode('utf-8', 'replace') if text is not None else None


class Context:
    """A context of the library with its options, its lock, and what was said during a call."""

    def __init__(self, options, progress=None, rules=None, memory_limit=None):
        self.handle = c_void_p(lib.tl_context_create())
        if not self.handle:
            raise errors.InternalError([])
        self.lock = threading.RLock()
        self.messages, self.raised = [], None
        self._sink = native.MESSAGE(self._hear)
        self._progress = native.PROGRESS(self._step)
        self.progress = progress
        lib.tl_context_on_message(self.handle, self._sink, None)
        if progress:
            lib.tl_context_on_progress(self.handle, self._progress, None)
        if memory_limit:
            lib.tl_context_set_memory_limit(self.handle, memory_limit)
        for name, value in option_table.settings(options):
            self.check(lib.tl_context_set(self.handle, name.encode(), value.encode()))
        if rules:
            text = rules.encode()
            self.check(lib.tl_rules_register(self.handle, b'rules', text, len(text)))

    def __del__(self):
        if getattr(self, 'handle', None):
            lib.tl_context_destroy(self.handle)
            self.handle = None

    def _hear(self, _user, message):
        m = message[0]
        parts = {name: _decoded(getattr(m, name)) for name in
                 ('text', 'code', 'file', 'node', 'attribute', 'what', 'hint')}
        parts['text'] = parts['text'].rstrip('\n')
        self.messages.append(errors.Message(severity=SEVERITIES[m.severity], **parts))

    def _step(self, _user, event):
        """An exception of the caller's function cancels the call, which then raises it."""
        try:
            return int(bool(self.progress(_decoded(event[0].pass_), event[0].step,
                                          event[0].nodes)))
        except BaseException as e:  # nothing may pass through the library
            self.raised = e
            return 1

    def check(self, code):
        """Raises what a code means, with the messages of the call; passes others on."""
        said, self.messages = self.messages, []
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised
        if code:
            raise errors.BY_CODE.get(code, errors.InternalError)(said)
        for m in said:
            if m.severity == 'warning':
                warnings.warn(m.text, errors.TailorWarning, stacklevel=4)
            else:
                log.info('%s', m.text)


class Owner:
    """Results of a run in the library's memory; arrays over them keep it alive."""

    def __init__(self, handle, model):
        self.handle, self.model = handle, model

    def __del__(self):
        lib.tl_tensors_destroy(self.handle)


def _pointer(data):
    """(address, bytes, what keeps them alive) of an object with a buffer, without a copy."""
    view = memoryview(data).cast('B')
    if view.readonly:
        if isinstance(data, bytes):
            return ctypes.cast(ctypes.c_char_p(data), c_void_p).value, len(data), data
        import numpy
        array = numpy.frombuffer(view, numpy.uint8)
        return array.ctypes.data, array.nbytes, array
    buffer = (ctypes.c_char * len(view)).from_buffer(view)
    return ctypes.addressof(buffer), len(view), buffer


class Files:
    """Gives the library the bytes of a model and of its files of weights, each of them once."""

    def __init__(self, context, name, model, files):
        self.context, self.name, self.model = context, name.encode(), model
        self.files = files if callable(files) else files.get
        self.lent = {}
        self.source = native.Source(native.OPEN(self._open), native.GIVE_BACK(self._give_back))

    def _open(self, _user, name, data, size):
        """An exception of the caller's function ends the call, which then raises it."""
        try:
            content = self.model if name == self.name and self.model is not None else \
                self.files(os.fsdecode(name))
            self.model = None if name == self.name else self.model
            if content is None:
                return 1
            data[0], size[0], kept = _pointer(content)
            self.lent[data[0]] = (content, kept)
            return 0
        except BaseException as e:  # nothing may pass through the library
            self.context.raised = e
            return 1

    def _give_back(self, _user, data, _size):
        self.lent.pop(data, None)


class Model:
    """A model. Made by load; optimize gives a new one. A model may be used by several threads: its
    calls wait for each other."""

    def __init__(self, context, handle, kept, options):
        self._context, self._handle = context, handle
        self._kept, self._options = kept, options

    def __del__(self):
        if getattr(self, '_handle', None):
            lib.tl_model_destroy(self._handle)
            self._handle = None

    def _check(self, code):
        self._context.check(code)

    # ---- looking -------------------------------------------------------------------------------

    def _value(self, number):
        view = native.ValueView()
        lib.tl_model_value(self._handle, number, byref(view))
        return view

    def _name(self, number):
        return str(self._value(number).name) if number else ''

    def _dim(self, dim):
        return dim if dim >= 0 else str(lib.tl_model_symbol(self._handle, dim)) or None

    def _describe(self, number):
        v = self._value(number)
        shape = tuple(self._dim(v.dims[i]) for i in range(v.rank)) if v.rank >= 0 else None
        return results.Value(str(v.name), arrays.NAMES.get(v.element), shape)

    def _main(self):
        graph = lib.tl_model_main_graph(self._handle)
        view = native.GraphView()
        lib.tl_model_graph(self._handle, graph, byref(view))
        return graph, view

    @property
    def inputs(self):
        """Inputs of the main graph, as a list of Value."""
        with self._context.lock:
            graph, view = self._main()
            return [self._describe(lib.tl_model_input(self._handle, graph, i))
                    for i in range(view.n_inputs)]

    @property
    def outputs(self):
        """Outputs of the main graph, as a list of Value."""
        with self._context.lock:
            graph, view = self._main()
            return [self._describe(lib.tl_model_output(self._handle, graph, i))
                    for i in range(view.n_outputs)]

    @property
    def weights(self):
        """{name: array} of the main graph; arrays view the model's memory and are read-only."""
        with self._context.lock:
            graph, view = self._main()
            made = {}
            for i in range(view.n_constants):
                number = lib.tl_model_constant(self._handle, graph, i)
                array = self._weight(number) if number else None
                if array is not None:
                    made[self._name(number)] = array
            return made

    def _weight(self, number):
        tensor = native.Tensor()
        if not lib.tl_model_weight(self._handle, number, byref(tensor)):
            return None
        if tensor.data or not tensor.bytes:
            return arrays.view(tensor, self)
        if arrays.NAMES[tensor.element] == 'str':
            return None
        room = ctypes.create_string_buffer(tensor.bytes)  # computed when it is read
        self._check(lib.tl_model_read_weight(self._handle, number, room, tensor.bytes))
        tensor.data = ctypes.addressof(room)
        return arrays.view(tensor, room)

    def _attribute(self, node, i):
        a = native.AttributeView()
        lib.tl_model_attribute(self._handle, node, i, byref(a))
        name = str(a.name)
        value = {1: lambda: a.integer, 2: lambda: a.number, 3: lambda: str(a.text),
                 4: lambda: arrays.view(a.tensor, self) if a.tensor.data else None,
                 6: lambda: [a.integers[k] for k in range(a.n)],
                 7: lambda: [a.numbers[k] for k in range(a.n)],
                 8: lambda: [str(lib.tl_model_attribute_text(self._handle, node, name.encode(), k))
                             for k in range(a.n)]}.get(a.type, lambda: None)()
        return name, value

    @property
    def nodes(self):
        """Nodes of the main graph in the order in which they run, as a list of Node."""
        with self._context.lock:
            _, graph = self._main()
            made, number = [], graph.first
            view = native.NodeView()
            while number and lib.tl_model_node(self._handle, number, byref(view)):
                inputs = tuple(self._name(lib.tl_model_operand(self._handle, number, i))
                               for i in range(view.n_operands))
                outputs = tuple(self._name(lib.tl_model_result(self._handle, number, i))
                                for i in range(view.n_results))
                made.append(results.Node(
                    str(view.name), str(view.op), str(view.domain), inputs, outputs,
                    dict(self._attribute(number, i) for i in range(view.n_attributes)),
                    str(lib.tl_model_origins(self._handle, number))))
                number = view.next
            return made

    def __len__(self):
        """Number of nodes in all graphs."""
        return lib.tl_model_count_nodes(self._handle)

    def __bool__(self):
        return True

    def __repr__(self):
        return f'<tailor.Model of {len(self)} nodes>'

    def _repr_html_(self):
        rows = [(v.name, v.dtype, v.shape) for v in self.inputs + self.outputs]
        return results._table((f'{len(self)} nodes', 'dtype', 'shape'), rows)

    # ---- doing ---------------------------------------------------------------------------------

    def optimize(self, to='onnx', *, passes=None, near_misses=False, progress=None, rules=None,
                 memory_limit=None, **options):
        """A new model that is optimized; this one stays as it is.

        to: 'onnx' for canonical form, 'air' for the NPU form, from which AIR can be saved.
        passes: names of passes to run instead, in order.
        near_misses: explain() then also says why rules were not applied; takes longer.
        progress: called with (pass, step, nodes) before each pass; true ends with Cancelled.
        rules: rewrite rules as text (docs/rules.md).
        memory_limit: most bytes that the model may take.
        Further keywords are options of `tailor convert`, beside those of load:
        """
        if to not in FORMS:
            raise errors.UsageError([errors.Message(
                severity='error', text=f"to={to!r} is neither 'onnx' nor 'air'")])
        merged = {**self._options, **options}
        if passes is not None:
            merged['passes'] = passes if isinstance(passes, str) else ','.join(passes)
        context = Context(merged, progress, rules, memory_limit)
        handle = c_void_p()
        with self._context.lock:
            context.check(lib.tl_model_copy(self._handle, context.handle, byref(handle)))
        made = Model(context, handle, self, merged)
        lib.tl_model_keep_remarks(handle, 1, int(near_misses))
        context.check(lib.tl_model_optimize(handle, FORMS[to]))
        return made

    def save(self, path):
        """Writes .onnx, .air or .tir; the file appears complete or not at all."""
        with self._context.lock:
            self._check(lib.tl_model_save(self._handle, os.fsencode(path)))

    def to_files(self, name='model.onnx'):
        """{name: bytes} of what save would write: the model, and files of weights that options ask
        for."""
        files = {}

        def take(_user, path, data, size):
            files[os.fsdecode(path)] = ctypes.string_at(data, size)
            return 0
        with self._context.lock:
            self._check(lib.tl_model_save_to(self._handle, os.fsencode(name), native.TAKE(take),
                                             None))
        return files

    def to_bytes(self, form='onnx'):
        """The model as bytes, in the format 'onnx', 'air' or 'tir'."""
        name = f'model.{form}'
        return self.to_files(name)[name]

    def to_onnx(self):
        """The model as onnx.ModelProto."""
        import onnx
        return onnx.ModelProto.FromString(self.to_bytes('onnx'))

    def _settings(self, seed, threads, exact, random, emulate):
        element = arrays.NUMBERS[emulate] if emulate else 0
        return native.RunSettings(seed, threads, int(exact), int(random), element)

    def _given(self, inputs):
        graph, view = self._main()
        declared = {}
        for i in range(view.n_inputs):
            v = self._value(lib.tl_model_input(self._handle, graph, i))
            declared[str(v.name)] = v.element
        return arrays.tensors(inputs or {}, declared)

    def run(self, inputs=None, *, seed=0, threads=0, exact=False, random=False, emulate=None):
        """{name: array} of the outputs, computed on the host.

        inputs: {name: array}; contiguous arrays are not copied, and results are views of the
        library's memory. random: inputs that are not given are random (with `seed`). exact: the
        same bytes on every machine. emulate: 'float16' or 'bfloat16'."""
        handle = c_void_p()
        with self._context.lock:
            tensors, kept = self._given(inputs)
            settings = self._settings(seed, threads, exact, random, emulate)
            self._check(lib.tl_model_run(self._handle, tensors, len(inputs or {}),
                                         byref(settings), byref(handle)))
            del kept
            owner, made = Owner(handle, self), {}
            for i in range(lib.tl_tensors_count(handle)):
                tensor = native.Tensor()
                lib.tl_tensors_get(handle, i, byref(tensor))
                made[tensor.name.decode()] = arrays.view(tensor, owner)
        return made

    def verify(self, other, inputs=None, *, rtol=-1, atol=-1, cosine=-1, seed=0, threads=0,
               exact=False, emulate=None):
        """Runs this model and another one on the same inputs, given or random, and compares the
        outputs of the other with those of this one. A Comparison; bounds as `tailor verify` has
        them, unless rtol, atol or cosine are given."""
        handle = c_void_p()
        first, second = sorted((self._context, other._context), key=id)
        with first.lock, second.lock:
            tensors, kept = self._given(inputs)
            settings = native.VerifySettings(self._settings(seed, threads, exact, True, emulate),
                                             rtol, atol, cosine)
            code = lib.tl_model_verify(self._handle, other._handle, tensors, len(inputs or {}),
                                       byref(settings), byref(handle))
            if code and not self._context.messages:
                other._check(code)
            self._check(code)
            del kept
            rows = []
            for i in range(lib.tl_comparison_count(handle)):
                d = native.Difference()
                lib.tl_comparison_get(handle, i, byref(d))
                rows.append(results.Difference(
                    _decoded(d.name), bool(d.equal), _decoded(d.reason), d.elements, d.off,
                    d.max_abs, d.max_rel, d.ulp, d.cosine, d.got, d.want))
            lib.tl_comparison_destroy(handle)
        return results.Comparison(rows)

    def explain(self):
        """What the passes of optimize did to this model, as an Explanation. A model that was not
        optimized is, on a copy, with the reasons why rules were not applied."""
        if not lib.tl_model_ran_count(self._handle):
            return self.optimize(near_misses=True).explain()
        passes, remarks = [], []
        with self._context.lock:
            ran, r = native.PassInfo(), native.Remark()
            for i in range(lib.tl_model_ran_count(self._handle)):
                lib.tl_model_ran(self._handle, i, byref(ran))
                passes.append(results.Pass(_decoded(ran.pass_), ran.rewrites,
                                           ran.nanoseconds / 1e9, ran.nodes_before,
                                           ran.nodes_after))
            for i in range(lib.tl_model_remark_count(self._handle)):
                lib.tl_model_remark(self._handle, i, byref(r))
                remarks.append(results.Remark(_decoded(r.pass_), bool(r.applied),
                                              _decoded(r.node), _decoded(r.message),
                                              _decoded(r.rule), _decoded(r.fusion),
                                              _decoded(r.reason)))
        return results.Explanation(passes, remarks)


def load(source, *, name=None, files=None, rules=None, memory_limit=None, **options):
    """Loads a model.

    source: a path; or bytes, or another object with a buffer, which is not copied and must not
    change; or an onnx.ModelProto. name: what messages call a model in memory; its suffix says the
    format. files: files of weights of a model in memory, as {name: bytes} (Model.to_files has that
    form), or a function that gives the bytes of a name, or None; asked while the model is loaded.
    rules, memory_limit: as in Model.optimize. Further keywords are options of `tailor convert`:
    """
    context = Context(options, None, rules, memory_limit)
    handle, kept = c_void_p(), None
    if isinstance(source, (str, os.PathLike)):
        context.check(lib.tl_model_load(context.handle, os.fsencode(source), byref(handle)))
        return Model(context, handle, kept, options)
    if hasattr(source, 'SerializeToString'):
        source = source.SerializeToString()
    name = name or 'model.onnx'
    if files is not None:
        kept = Files(context, name, source, files)
        context.check(lib.tl_model_load_from(context.handle, name.encode(), byref(kept.source),
                                             byref(handle)))
        return Model(context, handle, kept, options)
    address, size, kept = _pointer(source)
    context.check(lib.tl_model_load_bytes(context.handle, name.encode(), address, size,
                                          byref(handle)))
    return Model(context, handle, kept, options)


for _function in (Model.optimize, load):
    _function.__doc__ = (_function.__doc__ or '') + option_table.document()
