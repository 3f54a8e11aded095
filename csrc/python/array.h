// Memory shared with others: the buffer protocol, NumPy's array interface, DLPack.
#pragma once
#include "python/data.h"

namespace fl {

void init_array(PyObject* module);

}  // namespace fl
