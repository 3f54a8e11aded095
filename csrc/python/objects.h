// Small Python types around the core's plain values: dtype, device, layout, memory_format, Size; and numbers.
#pragma once
#include <optional>

#include "dispatch/value.h"
#include "python/errors.h"

namespace fl {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};
struct DeviceObject {
  PyObject_HEAD Device device;
};
// A member of a closed set that is only a name: layouts and memory formats.
struct NameObject {
  PyObject_HEAD const char* name;
  int code;
};

extern PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *size_type;

PyObject* dtype_object(DType dtype);  // borrowed
PyObject* new_device(Device device);
PyObject* layout_object(int code);                    // borrowed; 0 is strided
PyObject* memory_format_object(MemoryFormat format);  // borrowed
PyObject* new_size(IntList sizes);
bool is_dtype(PyObject* o);
inline DType dtype_of_object(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->dtype; }
Device parse_device(PyObject* o);  // device, string or index; throws

// Numbers. NumPy's scalars and zero-dimensional tensors count too where they hold what is asked for.
bool is_number(PyObject* o);
bool to_scalar(PyObject* o, Scalar* out);  // false: not a number; throws when out of range
bool to_int(PyObject* o, int64_t* out);    // by __index__; bool is refused; throws on overflow
PyObject* scalar_object(const Scalar& s);

void init_objects(PyObject* module, const char* package);

}  // namespace fl
