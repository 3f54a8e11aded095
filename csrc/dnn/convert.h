// Arrays of 16-bit floats to f32 and back, for types the processor can't multiply.
#pragma once

#include <cstdint>

#include "dnn/types.h"

namespace fl::dnn {

void to_float(DataType type, int64_t count, const void* source, float* target);
void from_float(DataType type, int64_t count, const float* source, void* target);

}  // namespace fl::dnn
