// The Tensor type as Python sees it.
#pragma once
#include "python/callable.h"

namespace fl {

void init_tensor_type(PyObject* module, const char* package);
void add_number_slots(std::vector<PyType_Slot>& slots);
void add_indexing_slots(std::vector<PyType_Slot>& slots);
void add_buffer_slots(std::vector<PyType_Slot>& slots);
PyGetSetDef* tensor_attributes();
PyMethodDef* tensor_methods();
// A tensor of a subclass over the same memory.
Tensor make_subclass(PyTypeObject* type, const Tensor& t, bool requires_grad);
// Python-side parts (printing, legacy constructor), looked up in the package when first needed.
PyObject* package_function(const char* module, const char* name);  // borrowed; throws

inline const Tensor& as_tensor(PyObject* const& o) { return reinterpret_cast<const Tensor&>(o); }
inline PyObject* to_python(Tensor t) { return reinterpret_cast<PyObject*>(t.detach_pointer()); }

}  // namespace fl
