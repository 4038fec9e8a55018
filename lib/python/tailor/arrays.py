# SPDX-License-Identifier: Apache-2.0
"""numpy arrays over memory of the library and back, without copies where the layout allows it."""
import ctypes

from tailor._library import Tensor

# By the numbers of ONNX; types that numpy lacks are seen as unsigned integers of their size.
NAMES = {1: 'float32', 2: 'uint8', 3: 'int8', 4: 'uint16', 5: 'int16', 6: 'int32', 7: 'int64',
         8: 'str', 9: 'bool', 10: 'float16', 11: 'float64', 12: 'uint32', 13: 'uint64',
         14: 'complex64', 15: 'complex128', 16: 'bfloat16', 17: 'float8_e4m3fn',
         18: 'float8_e4m3fnuz', 19: 'float8_e5m2', 20: 'float8_e5m2fnuz', 21: 'uint4', 22: 'int4',
         23: 'float4_e2m1', 24: 'float8_e8m0'}
NUMBERS = {name: number for number, name in NAMES.items()}
SEEN_AS = {'bfloat16': 'uint16', 'float8_e4m3fn': 'uint8', 'float8_e4m3fnuz': 'uint8',
           'float8_e5m2': 'uint8', 'float8_e5m2fnuz': 'uint8', 'float8_e8m0': 'uint8'}
PACKED = ('uint4', 'int4', 'float4_e2m1')  # two elements a byte: a flat array of bytes


def view(tensor, owner):
    """An array over the memory of a tensor, which `owner` keeps alive; read-only."""
    import numpy
    name = NAMES[tensor.element]
    if name == 'str':
        count = 1
        for dim in tensor.shape():
            count *= dim
        texts = ctypes.cast(tensor.data, ctypes.POINTER(ctypes.c_char_p))
        made = numpy.empty(count, dtype=object)
        made[:] = [texts[i].decode('utf-8', 'surrogateescape') for i in range(count)]
        return made.reshape(tensor.shape())
    dtype = numpy.dtype('uint8' if name in PACKED else SEEN_AS.get(name, name))
    if not tensor.bytes:
        return numpy.empty(tensor.shape(), dtype)
    buffer = (ctypes.c_uint8 * tensor.bytes).from_address(tensor.data)
    buffer.owner = owner
    array = numpy.frombuffer(buffer, dtype)
    array.flags.writeable = False
    return array if name in PACKED else array.reshape(tensor.shape())


def _texts(array, kept):
    texts = (ctypes.c_char_p * (array.size or 1))()
    for i, text in enumerate(array.reshape(-1)):
        data = text if isinstance(text, bytes) else str(text).encode('utf-8', 'surrogateescape')
        if b'\0' in data:
            raise ValueError(f'{text!r} has a NUL character, which ends a string of a tensor')
        texts[i] = data
    kept.append(texts)
    return ctypes.addressof(texts), array.size * ctypes.sizeof(ctypes.c_char_p)


def tensors(inputs, elements):
    """(an array of Tensor for a mapping of names to arrays, what has to stay alive for it).

    elements: the element types that the model declares, by name, for what numpy lacks. An array
    that is not contiguous or not in the machine's byte order is copied; others are not."""
    import numpy
    made, kept = (Tensor * (len(inputs) or 1))(), []
    for i, (name, value) in enumerate(inputs.items()):
        if not isinstance(name, str):
            raise TypeError(f'the name of an input is a str, not {type(name).__name__}')
        array = numpy.asarray(value)
        declared = NAMES.get(elements.get(name, 0))
        dims = (ctypes.c_int64 * (array.ndim or 1))(*array.shape)
        kept.append(dims)
        if array.dtype.kind in 'OUS':
            data, size = _texts(array, kept)
            element = NUMBERS['str']
        else:
            array = numpy.ascontiguousarray(array, array.dtype.newbyteorder('=')) \
                .reshape(array.shape)
            kept.append(array)
            data, size = array.ctypes.data, array.nbytes
            seen = SEEN_AS.get(declared) == array.dtype.name
            element = NUMBERS[declared if seen else array.dtype.name] \
                if seen or array.dtype.name in NUMBERS else 0
        made[i] = Tensor(name.encode(), element, array.ndim, dims, data, size)
    return made, kept
