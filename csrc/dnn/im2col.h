// Convolutions of the types oneDNN doesn't know, as matrix products: double, complex and integers (which wrap around).
// Contiguous arrays, shaped as in convolution.h. The same bits at any number of threads.
#pragma once

#include "dnn/convolution.h"

namespace fl::dnn {

// The bias may be null.
template <class T>
void im2col_convolution(const Convolution& shape, const T* source, const T* weights, const T* bias, T* destination);

template <class T>
void im2col_backward_data(const Convolution& shape, const T* gradient, const T* weights, T* source_gradient);

// The gradient of the bias may be null.
template <class T>
void im2col_backward_weights(const Convolution& shape, const T* source, const T* gradient, T* weights_gradient,
                             T* bias_gradient);

}  // namespace fl::dnn
