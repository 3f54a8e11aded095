// The Python face of an op: one callable object for each of its forms.
#pragma once
#include "python/parse.h"

namespace fl {

enum class Form : uint8_t { Function, Method, InPlaceFunction, InPlaceMethod };

PyObject* op_callable(OpGroup* group, Form form);  // borrowed; made once
// Calls an op that the binding itself needs: operators, indexing.
PyObject* call_op(OpGroup* group, Form form, PyObject* const* args, Py_ssize_t count, PyObject* names);
PyObject* result_object(const Entry& entry, Result r);
// The protocol: asks each overriding argument in turn. New reference.
PyObject* call_torch_function(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names);
// Through modes and overrides when there are any; null without an exception when there are none.
bool torch_function_wanted(PyObject* const* args, Py_ssize_t count);
void init_callables(PyObject* module, const char* package);
void set_override_flag(TensorObject* t);  // from its Python type
void init_torch_function(PyObject* module);
extern PyObject* disabled_torch_function;

}  // namespace fl
