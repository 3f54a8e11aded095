// DLPack: tensors to and from capsules, without copying.
#pragma once
#include "python/data.h"

namespace fl {

bool is_dlpack_capsule(PyObject* o);
// Takes over what a capsule holds; throws for a capsule that was used before, or that holds what no tensor can be.
Tensor tensor_from_capsule(PyObject* capsule);
void init_dlpack(PyObject* module);

}  // namespace fl
