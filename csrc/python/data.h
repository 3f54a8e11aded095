// Tensors from Python data and back.
#pragma once
#include "python/objects.h"

namespace fl {

// Numbers, nested sequences, arrays, tensors; always a copy. Type inferred where none is given.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, const char* op);
// Zero-copy from an object with the buffer protocol or NumPy's array interface; throws TypeError when it has none.
Tensor tensor_from_array(PyObject* array, const char* op);
Tensor tensor_from_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset, const char* op);
bool is_array(PyObject* o);
PyObject* to_list(const Tensor& t);
PyObject* item_object(const Tensor& t);  // of a single element

}  // namespace fl
