// Memory layouts of batches of images: as written (N, C, H, W), or with the channels innermost.
#pragma once
#include "ops/api.h"

namespace fl {

inline bool is_channels_last(const Tensor& t) {
  return !t.is_contiguous() && (t.dim() == 4 ? t.is_contiguous(MemoryFormat::ChannelsLast)
                                             : t.dim() == 5 && t.is_contiguous(MemoryFormat::ChannelsLast3d));
}

// Of the given sizes, laid out as `like` is.
inline Tensor empty_as_laid_out(const Tensor& like, IntList sizes, DType dtype) {
  if (!is_channels_last(like)) return empty(sizes, dtype, like.device());
  return empty(sizes, dtype, like.device(),
               sizes.size() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d);
}

// `t`, or a copy of it, in one of the two layouts.
inline Tensor dense_planes(const Tensor& t) { return t.is_contiguous() || is_channels_last(t) ? t : contiguous(t); }

// `t`, or a copy of it, in the layout of `like`.
inline Tensor laid_out_as(const Tensor& like, const Tensor& t) {
  if (is_channels_last(like) ? is_channels_last(t) : t.is_contiguous()) return t;
  Tensor r = empty_as_laid_out(like, t.sizes(), t.dtype());
  raw_copy(r, t);
  return r;
}

// `t`, or a copy of it, in another type.
inline Tensor converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor r = empty_like(t, dtype);
  raw_copy(r, t);
  return r;
}

// The type in which 16-bit floats are computed.
inline DType compute_type(DType dtype) {
  return dtype == DType::Half || dtype == DType::BFloat16 ? DType::Float : dtype;
}

}  // namespace fl
