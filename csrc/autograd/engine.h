// Runs the tape backward.
#pragma once
#include "autograd/node.h"

namespace fl {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // into .grad of leaves; false for autograd.grad
  bool allow_unreachable = true;
};

// Gradients of the roots weighted by `seeds`. With `inputs`, only what lies on a path to them runs; with accumulate off
// their gradients are returned, in order, undefined where none arrives.
std::vector<Tensor> run_backward(TensorList roots, TensorList seeds, std::span<const Edge> inputs,
                                 BackwardOptions options);
bool in_backward();
int64_t backward_run_id();        // -1 outside
bool will_run(const Node& node);  // in the innermost run

}  // namespace fl
