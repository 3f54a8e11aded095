// torch.Generator.
#pragma once
#include "python/objects.h"

namespace fl {

Generator* generator_of(PyObject* o);  // null: not a generator
Generator* default_generator();
void init_generator(PyObject* module, const char* package);

}  // namespace fl
