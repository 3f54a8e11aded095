// From Python arguments to boxed values, by an op's schema.
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "dispatch/entry.h"
#include "python/objects.h"

namespace fl {

inline constexpr int kMaxArguments = 32;

// What the values of one call point to.
struct Parsed {
  Value values[kMaxArguments];
  PyObject* objects[kMaxArguments];  // as given, borrowed; null: left out
  PyObject* out = nullptr;
  // Lists that values point into; most calls have none.
  struct Lists {
    std::deque<std::vector<double>> floats;
    std::deque<std::vector<Tensor>> tensors;
    std::deque<std::vector<Scalar>> scalars;
    std::deque<std::complex<double>> complexes;
  };
  static constexpr int kIntLists = 8;
  SmallVector<int64_t, 6> int_lists[kIntLists];
  int int_lists_used = 0;
  SmallVector<int64_t, 6>& new_int_list() {
    FL_CHECK(int_lists_used < kIntLists, "too many lists of ints in one call");
    return int_lists[int_lists_used++];
  }
  std::unique_ptr<Lists> made;
  Lists& lists() {
    if (!made) made = std::make_unique<Lists>();
    return *made;
  }
  bool has_override = false;  // an argument takes part in __torch_function__
};

// The arguments of a call, as vectorcall passes them; `self`, when there, comes first.
struct Arguments {
  PyObject* const* items;
  Py_ssize_t positional;
  PyObject* names;  // tuple or null
  bool is_method;
};

// False when the call doesn't fit the schema; `why` then says so, if asked for. Throws what converting a value throws.
bool parse_arguments(const Entry& entry, const Arguments& args, bool allow_out, Parsed& parsed, std::string* why);
// The error for a call that fits no overload.
[[noreturn]] void refuse_call(const OpGroup& group, const char* shown_name, const Arguments& args, bool allow_out);
bool has_torch_function(PyObject* o);  // an object that isn't a tensor of the exact type, with the protocol

}  // namespace fl
