// Reading and writing at a list of places: the machine under index, index_put and the index_ ops along a dimension.
#pragma once
#include "ops/indexing/combine.h"
#include "ops/indexing/walk.h"

namespace fl {

// A tensor seen as [before][place][after]; the elements at place k begin offsets[k] elements behind the tensor's first.
struct Places {
  char* data;
  DType dtype;
  Walk<1> before, after;
  const int64_t* offsets;
  int64_t count;

  void add_before(const Tensor& t, int64_t dim) { before.add(t->sizes[dim], {t->strides[dim]}); }
  void add_after(const Tensor& t, int64_t dim) { after.add(t->sizes[dim], {t->strides[dim]}); }
};

// Copies what is at the places to `out`, dense in the order [before][place][after].
void read_places(const Places& p, char* out);
// Writes dense elements in the same order, or with `single` one element everywhere. Places that occur more than once
// are written in order, so the result is the same at any number of threads.
void write_places(const Places& p, const char* source, bool single, Combine how);

// Index values as contiguous int64, negative ones counted from the end where allowed. Throws when one is out of bounds.
Tensor checked_positions(const Tensor& index, int64_t size, int64_t dim, const char* op, bool negative, ErrorKind kind);

}  // namespace fl
