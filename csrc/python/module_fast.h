// A fast path for calling nn modules and for finding their parameters, buffers and submodules as attributes.
#pragma once
#include "python/errors.h"

namespace fl {

void init_module_fast(PyObject* module);

}  // namespace fl
