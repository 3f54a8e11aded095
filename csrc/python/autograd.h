// Autograd's Python face: node types, backward and grad, modes, custom functions.
#pragma once
#include "autograd/node.h"
#include "python/errors.h"

namespace fl {

void init_autograd(PyObject* module, const char* package);
void init_custom_function(PyObject* module, const char* package);
// requires_grad = on, with PyTorch's rules for leaves and types.
void change_requires_grad(const Tensor& t, bool on);

}  // namespace fl
