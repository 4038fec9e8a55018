# SPDX-License-Identifier: Apache-2.0
"""libtailor by ctypes: structs and prototypes of include/tailor, and nothing else.

ctypes releases the interpreter's lock during each call and takes it again for callbacks."""
import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint32, c_uint64, c_void_p)

NAME = 'libtailor.so.1'


class Text(Structure):
    _fields_ = [('at', c_void_p), ('n', c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.at, self.n).decode('utf-8', 'replace') if self.n else ''


class Message(Structure):
    _fields_ = [('severity', c_int), ('text', c_char_p), ('code', c_char_p), ('file', c_char_p),
                ('node', c_char_p), ('attribute', c_char_p), ('what', c_char_p),
                ('hint', c_char_p), ('offset', c_int64), ('line', c_uint32), ('column', c_uint32)]


class Progress(Structure):
    _fields_ = [('pass_', c_char_p), ('step', c_uint32), ('nodes', c_uint32)]


class Tensor(Structure):
    _fields_ = [('name', c_char_p), ('element', c_int), ('rank', c_int32),
                ('dims', POINTER(c_int64)), ('data', c_void_p), ('bytes', c_uint64)]

    def shape(self):
        return tuple(self.dims[i] for i in range(self.rank))


class GraphView(Structure):
    _fields_ = [('name', Text), ('owner', c_uint32), ('n_inputs', c_uint32),
                ('n_outputs', c_uint32), ('n_constants', c_uint32), ('n_nodes', c_uint32),
                ('first', c_uint32)]


class ValueView(Structure):
    _fields_ = [('name', Text), ('role', c_int), ('element', c_int), ('rank', c_int32),
                ('dims', POINTER(c_int64)), ('producer', c_uint32), ('n_uses', c_uint32)]


class NodeView(Structure):
    _fields_ = [('name', Text), ('domain', Text), ('op', Text), ('graph', c_uint32),
                ('n_operands', c_uint32), ('n_results', c_uint32), ('n_attributes', c_uint32),
                ('previous', c_uint32), ('next', c_uint32)]


class AttributeView(Structure):
    _fields_ = [('name', Text), ('type', c_int), ('n', c_uint32), ('integer', c_int64),
                ('number', ctypes.c_float), ('text', Text), ('integers', POINTER(c_int64)),
                ('numbers', POINTER(ctypes.c_float)), ('graph', c_uint32), ('tensor', Tensor)]


class Remark(Structure):
    _fields_ = [('pass_', c_char_p), ('node', c_char_p), ('message', c_char_p),
                ('rule', c_char_p), ('fusion', c_char_p), ('reason', c_char_p),
                ('applied', c_int)]


class PassInfo(Structure):
    _fields_ = [('pass_', c_char_p), ('rewrites', c_uint64), ('nanoseconds', c_uint64),
                ('nodes_before', c_uint32), ('nodes_after', c_uint32)]


class OptionInfo(Structure):
    _fields_ = [('name', c_char_p), ('type', c_int), ('values', c_char_p), ('initial', c_char_p),
                ('key', c_char_p), ('group', c_char_p), ('help', c_char_p), ('repeats', c_int)]


class RunSettings(Structure):
    _fields_ = [('seed', c_uint64), ('threads', c_uint32), ('exact', c_int),
                ('random_inputs', c_int), ('emulate', c_int)]


class VerifySettings(Structure):
    _fields_ = [('run', RunSettings), ('rtol', c_double), ('atol', c_double),
                ('cosine', c_double)]


class Difference(Structure):
    _fields_ = [('name', c_char_p), ('reason', c_char_p), ('equal', c_int),
                ('elements', c_uint64), ('off', c_uint64), ('max_abs', c_double),
                ('max_rel', c_double), ('ulp', c_double), ('cosine', c_double),
                ('got', c_double), ('want', c_double)]


MESSAGE = CFUNCTYPE(None, c_void_p, POINTER(Message))
PROGRESS = CFUNCTYPE(c_int, c_void_p, POINTER(Progress))
TAKE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_uint64)
OPEN = CFUNCTYPE(c_int, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_uint64))
GIVE_BACK = CFUNCTYPE(None, c_void_p, c_void_p, c_uint64)


class Source(Structure):
    _fields_ = [('open', OPEN), ('give_back', GIVE_BACK), ('user', c_void_p)]


P = c_void_p  # a context, a model, results
PROTOTYPES = {
    'tl_version': (c_char_p, []),
    'tl_context_create': (P, []),
    'tl_context_destroy': (None, [P]),
    'tl_context_on_message': (None, [P, MESSAGE, c_void_p]),
    'tl_context_on_progress': (None, [P, PROGRESS, c_void_p]),
    'tl_context_set_memory_limit': (None, [P, c_uint64]),
    'tl_context_set': (c_int, [P, c_char_p, c_char_p]),
    'tl_rules_register': (c_int, [P, c_char_p, c_char_p, c_size_t]),
    'tl_option_count': (c_uint32, []),
    'tl_option_describe': (c_int, [c_uint32, POINTER(OptionInfo)]),
    'tl_pass_count': (c_uint32, []),
    'tl_pass_name': (c_char_p, [c_uint32, POINTER(c_char_p)]),
    'tl_model_load': (c_int, [P, c_char_p, POINTER(P)]),
    'tl_model_load_bytes': (c_int, [P, c_char_p, c_void_p, c_size_t, POINTER(P)]),
    'tl_model_load_from': (c_int, [P, c_char_p, POINTER(Source), POINTER(P)]),
    'tl_model_copy': (c_int, [P, P, POINTER(P)]),
    'tl_model_destroy': (None, [P]),
    'tl_model_optimize': (c_int, [P, c_int]),
    'tl_model_run_passes': (c_int, [P, c_char_p]),
    'tl_model_infer': (c_int, [P]),
    'tl_model_save': (c_int, [P, c_char_p]),
    'tl_model_save_to': (c_int, [P, c_char_p, TAKE, c_void_p]),
    'tl_model_keep_remarks': (None, [P, c_int, c_int]),
    'tl_model_remark_count': (c_uint32, [P]),
    'tl_model_remark': (c_int, [P, c_uint32, POINTER(Remark)]),
    'tl_model_ran_count': (c_uint32, [P]),
    'tl_model_ran': (c_int, [P, c_uint32, POINTER(PassInfo)]),
    'tl_model_main_graph': (c_uint32, [P]),
    'tl_model_count_nodes': (c_uint32, [P]),
    'tl_model_graph': (c_int, [P, c_uint32, POINTER(GraphView)]),
    'tl_model_input': (c_uint32, [P, c_uint32, c_uint32]),
    'tl_model_output': (c_uint32, [P, c_uint32, c_uint32]),
    'tl_model_constant': (c_uint32, [P, c_uint32, c_uint32]),
    'tl_model_value': (c_int, [P, c_uint32, POINTER(ValueView)]),
    'tl_model_symbol': (Text, [P, c_int64]),
    'tl_model_weight': (c_int, [P, c_uint32, POINTER(Tensor)]),
    'tl_model_read_weight': (c_int, [P, c_uint32, c_void_p, c_uint64]),
    'tl_model_node': (c_int, [P, c_uint32, POINTER(NodeView)]),
    'tl_model_operand': (c_uint32, [P, c_uint32, c_uint32]),
    'tl_model_result': (c_uint32, [P, c_uint32, c_uint32]),
    'tl_model_origins': (Text, [P, c_uint32]),
    'tl_model_attribute': (c_int, [P, c_uint32, c_uint32, POINTER(AttributeView)]),
    'tl_model_attribute_text': (Text, [P, c_uint32, c_char_p, c_uint32]),
    'tl_model_run': (c_int, [P, POINTER(Tensor), c_uint32, POINTER(RunSettings), POINTER(P)]),
    'tl_tensors_count': (c_uint32, [P]),
    'tl_tensors_get': (c_int, [P, c_uint32, POINTER(Tensor)]),
    'tl_tensors_destroy': (None, [P]),
    'tl_model_verify': (c_int, [P, P, POINTER(Tensor), c_uint32, POINTER(VerifySettings),
                                POINTER(P)]),
    'tl_comparison_count': (c_uint32, [P]),
    'tl_comparison_get': (c_int, [P, c_uint32, POINTER(Difference)]),
    'tl_comparison_destroy': (None, [P]),
}


def _load():
    """The library beside this file, as wheels have it, else that of the system."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    library = ctypes.CDLL(beside if os.path.exists(beside) else NAME)
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
