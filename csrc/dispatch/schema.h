// The signature of an op, read once from its schema string.
//
//   name.overload(Tensor input, Tensor|Scalar other, int[2] size=1, *, dtype? dtype=None) -> (Tensor values, Tensor
//   indices)
#pragma once
#include <string>
#include <vector>

#include "dispatch/value.h"

namespace fl {

enum class ArgType : uint8_t {
  Tensor,
  TensorOrScalar,
  TensorList,
  Int,
  IntList,
  Float,
  FloatList,
  Bool,
  Scalar,
  ScalarList,
  String,
  DType,
  Layout,
  Device,
  MemoryFormat,
  Generator,
  Any
};

struct Argument {
  std::string name;
  PyObject* interned = nullptr;  // the name as Python compares it
  ArgType type = ArgType::Any;
  bool optional = false;          // None is allowed
  bool element_optional = false;  // Tensor?[]
  bool has_default = false;
  bool keyword_only = false;
  int repeat = 0;  // int[2]: a single int stands for 2 of them; int[] with 0 takes none
  Value default_value;
  std::string default_text;  // as written; keeps what default_value points to
  std::vector<int64_t> default_ints;
  std::string type_text;
};

struct Schema {
  std::string text;
  std::string name;  // without overload, with its namespace prefix: "nn.softplus"
  std::string overload;
  std::vector<Argument> args;
  int positional = 0;                     // how many may be given by position
  std::string returns;                    // as written
  std::vector<std::string> result_names;  // of a named tuple
  bool returns_list = false;
  int argument(std::string_view name) const;  // index or -1
};

Schema parse_schema(const char* text);  // throws for what it can't read: a programming error
const char* type_name(ArgType type);    // how messages call it

}  // namespace fl
