# SPDX-License-Identifier: Apache-2.0
"""Models: load, look at, optimize, save, run, verify, explain."""
import ctypes
import logging
import os
import warnings
import weakref
from collections.abc import Mapping
from ctypes import byref, c_void_p

from tailor import arrays, errors, options as option_table, results
from tailor import _library as native
from tailor._library import lib
from tailor.handles import Handle, Turn

FORMS = {'onnx': 0, 'air': 1}
SEVERITIES = ('note', 'warning', 'error')
log = logging.getLogger('tailor')


def c_text(text):
    """Text as the library takes it. A NUL would end it before its end."""
    if '\0' in text:
        raise ValueError(f'{text!r} has a NUL character')
    return text.encode('utf-8', 'surrogateescape')


def c_path(path):
    """A path as the library takes it."""
    return c_text(os.fsdecode(path))


def _decoded(text):
    return text.decode('utf-8', 'replace') if text is not None else None


class Context:
    """A context of the library with its options, its lock, and what was said during a call."""

    def __init__(self, options, progress=None, rules=(), memory_limit=None):
        self.lock, self.messages, self.raised = Turn(), [], None
        self.owned = Handle(self.lock, lib.tl_context_destroy)
        self.owned.value = self.handle = c_void_p(lib.tl_context_create())
        if not self.handle:
            raise errors.out_of_memory()
        own = weakref.ref(self)  # no cycle: a context goes with its last model
        self._sink = native.MESSAGE(lambda _, message: own()._hear(message))
        self._progress = native.PROGRESS(lambda _, event: own()._step(event))
        self.owned.kept = self._sink, self._progress
        self.progress = progress
        lib.tl_context_on_message(self.handle, self._sink, None)
        if progress:
            lib.tl_context_on_progress(self.handle, self._progress, None)
        if memory_limit:
            limit = option_table.number('memory_limit', memory_limit, 64)
            lib.tl_context_set_memory_limit(self.handle, limit)
        for name, value in option_table.settings(options):
            self.check(lib.tl_context_set(self.handle, c_text(name), c_text(value)))
        for text in filter(None, rules):
            text = text.encode()
            self.check(lib.tl_rules_register(self.handle, b'rules', text, len(text)))

    def _hear(self, message):
        m = message[0]
        parts = {name: _decoded(getattr(m, name)) for name in
                 ('text', 'code', 'file', 'node', 'attribute', 'what', 'hint')}
        parts['text'] = parts['text'].rstrip('\n')
        self.messages.append(errors.Message(severity=SEVERITIES[m.severity], **parts))

    def _step(self, event):
        """An exception of the caller's function cancels the call, which then raises it."""
        try:
            return int(bool(self.progress(_decoded(event[0].pass_), event[0].step,
                                          event[0].nodes)))
        except BaseException as e:  # nothing may pass through the library
            self.raised = e
            return 1

    def check_heard(self):
        """Raises what a function without a code has said: it lacked memory."""
        lacks = any(m.severity == 'error' for m in self.messages)
        self.check(errors.InternalError.code if lacks else 0)

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
        self.context, self.name, self.model = context, c_text(name), model
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

    def __init__(self, context, given, parents=(), kept=None):
        self._context, self._given_at_load = context, given
        self._owned = Handle(context.lock, lib.tl_model_destroy, (context.owned, *parents), kept)
        self._handle = self._owned.value

    def copy(self):
        """Another model that is like this one; weights are shared."""
        context = Context(self._given_at_load[0], None, *self._given_at_load[1:])
        made = Model(context, self._given_at_load, (self._owned,))
        with self._context.lock:
            context.check(lib.tl_model_copy(self._handle, context.handle, byref(made._handle)))
        return made

    __copy__ = copy

    def __deepcopy__(self, _memo):
        return self.copy()

    def __reduce__(self):
        raise TypeError('a tailor.Model cannot be pickled; its to_bytes() or to_files() can')

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
            self._context.check_heard()
            return made

    def __len__(self):
        """Number of nodes in all graphs."""
        with self._context.lock:
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
            raise errors.usage(f"to={to!r} is neither 'onnx' nor 'air'")
        loaded, loaded_rules, loaded_limit = self._given_at_load
        merged = {**loaded, **options}
        if passes is not None:
            merged['passes'] = passes if isinstance(passes, str) else ','.join(passes)
        given = merged, (*loaded_rules, rules), memory_limit or loaded_limit
        context = Context(merged, progress, *given[1:])
        made = Model(context, given, (self._owned,))
        with self._context.lock:
            context.check(lib.tl_model_copy(self._handle, context.handle, byref(made._handle)))
        lib.tl_model_keep_remarks(made._handle, 1, int(near_misses))
        with context.lock:
            context.check(lib.tl_model_optimize(made._handle, FORMS[to]))
        return made

    def save(self, path):
        """Writes .onnx, .air or .tir; the file appears complete or not at all."""
        with self._context.lock:
            self._check(lib.tl_model_save(self._handle, c_path(path)))

    def to_files(self, name='model.onnx'):
        """{name: bytes} of what save would write: the model, and files of weights that options ask
        for."""
        files = {}

        def take(_user, path, data, size):
            files[os.fsdecode(path)] = ctypes.string_at(data, size)
            return 0
        with self._context.lock:
            self._check(lib.tl_model_save_to(self._handle, c_path(name), native.TAKE(take), None))
        return files

    def to_bytes(self, form='onnx'):
        """The model as bytes, in the format 'onnx', 'air' or 'tir'."""
        if form not in ('onnx', 'air', 'tir'):
            raise errors.usage(f"form={form!r} is none of 'onnx', 'air' and 'tir'")
        name = f'model.{form}'
        return self.to_files(name)[name]

    def to_onnx(self):
        """The model as onnx.ModelProto."""
        import onnx
        return onnx.ModelProto.FromString(self.to_bytes('onnx'))

    def _settings(self, seed, threads, exact, random, emulate):
        if emulate and emulate not in arrays.NUMBERS:
            raise errors.usage(f"emulate={emulate!r} is neither 'float16' nor 'bfloat16'")
        element = arrays.NUMBERS[emulate] if emulate else 0
        return native.RunSettings(option_table.number('seed', seed, 64),
                                  option_table.number('threads', threads, 32), int(exact),
                                  int(random), element)

    def _given(self, inputs):
        if inputs is not None and not isinstance(inputs, Mapping):
            raise TypeError(f'inputs are a dict of names and arrays, not {type(inputs).__name__}')
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
        with self._context.lock:
            tensors, kept = self._given(inputs)
            settings = self._settings(seed, threads, exact, random, emulate)
            owner, made = Handle(self._context.lock, lib.tl_tensors_destroy, (self._owned,)), {}
            self._check(lib.tl_model_run(self._handle, tensors, len(inputs or {}),
                                         byref(settings), byref(owner.value)))
            del kept
            for i in range(lib.tl_tensors_count(owner.value)):
                tensor = native.Tensor()
                lib.tl_tensors_get(owner.value, i, byref(tensor))
                made[tensor.name.decode()] = arrays.view(tensor, owner)
        return made

    def verify(self, other, inputs=None, *, rtol=-1, atol=-1, cosine=-1, seed=0, threads=0,
               exact=False, emulate=None):
        """Runs this model and another one on the same inputs, given or random, and compares the
        outputs of the other with those of this one. A Comparison; bounds as `tailor verify` has
        them, unless rtol, atol or cosine are given."""
        if not isinstance(other, Model):
            raise TypeError(f'a Model is compared with a Model, not with {type(other).__name__}')
        first, second = sorted((self._context, other._context), key=id)
        with first.lock, second.lock:
            tensors, kept = self._given(inputs)
            settings = native.VerifySettings(self._settings(seed, threads, exact, True, emulate),
                                             rtol, atol, cosine)
            found = Handle(self._context.lock, lib.tl_comparison_destroy, (self._owned,))
            handle = found.value
            code = lib.tl_model_verify(self._handle, other._handle, tensors, len(inputs or {}),
                                       byref(settings), byref(handle))
            if other._context is not self._context:
                self._context.messages += other._context.messages
                other._context.messages = []
            self._check(code)
            del kept
            rows = []
            for i in range(lib.tl_comparison_count(handle)):
                d = native.Difference()
                lib.tl_comparison_get(handle, i, byref(d))
                rows.append(results.Difference(
                    _decoded(d.name), bool(d.equal), _decoded(d.reason), d.elements, d.off,
                    d.max_abs, d.max_rel, d.ulp, d.cosine, d.got, d.want))
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
    given = options, (rules,), memory_limit
    context = Context(options, None, *given[1:])
    if isinstance(source, (str, os.PathLike)):
        made = Model(context, given)
        context.check(lib.tl_model_load(context.handle, c_path(source), byref(made._handle)))
        return made
    if hasattr(source, 'SerializeToString'):
        source = source.SerializeToString()
    name = name or 'model.onnx'
    if files is not None:
        kept = Files(context, name, source, files)
        made = Model(context, given, kept=kept)
        context.check(lib.tl_model_load_from(context.handle, c_text(name), byref(kept.source),
                                             byref(made._handle)))
        return made
    address, size, kept = _pointer(source)
    made = Model(context, given, kept=kept)
    context.check(lib.tl_model_load_bytes(context.handle, c_text(name), address, size,
                                          byref(made._handle)))
    return made


for _function in (Model.optimize, load):
    _function.__doc__ = (_function.__doc__ or '') + option_table.document()
