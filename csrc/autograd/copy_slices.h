// In-place writes through a view: the history of the whole base changes.
#pragma once
#include "autograd/node.h"

namespace fl {

// `view` was written to by the op of `node`: puts a node onto its base that replaces the written part's gradient by
// what `node` makes of it, and moves the view onto the base's new history.
void rebase_view(const Tensor& view, Node* node);

}  // namespace fl
