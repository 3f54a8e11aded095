// Reductions of losses.
#pragma once
#include <optional>
#include <string_view>

#include "dispatch/dispatch.h"

namespace fl {

enum class LossReduction : int64_t { None, Mean, Sum };

// From the name, or from the older arguments that once chose it. Throws ValueError for other names.
LossReduction loss_reduction(std::string_view name, std::optional<bool> size_average, std::optional<bool> reduce,
                             const char* op);

}  // namespace fl
