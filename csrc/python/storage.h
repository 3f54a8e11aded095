// _C.StorageBase: the bytes of a tensor as a Python object.
#pragma once
#include "python/objects.h"

namespace fl {

PyObject* storage_object(Storage* storage);  // a new object over the same bytes
Storage* storage_of(PyObject* o);            // borrowed; null: not a storage
void init_storage(PyObject* module, const char* package);

}  // namespace fl
