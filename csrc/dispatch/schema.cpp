#include "dispatch/schema.h"

#include <cctype>
#include <cmath>
#include <limits>

namespace fl {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Schema read() {
    Schema s;
    s.text = text_;
    std::string full = until("(");
    at_++;
    size_t dot = full.rfind('.');
    static constexpr std::string_view kNamespaces[] = {"nn",     "linalg", "special", "fft", "torch",
                                                       "Tensor", "_C",     "sparse",  "_nn"};
    bool is_namespace = false;
    if (dot != std::string::npos)
      for (auto n : kNamespaces) is_namespace |= full.substr(0, dot) == n;
    if (dot != std::string::npos && !is_namespace) {
      s.name = full.substr(0, dot);
      s.overload = full.substr(dot + 1);
    } else {
      s.name = full;
    }
    bool keyword_only = false;
    for (skip(); peek() != ')'; skip()) {
      if (accept('*')) {
        keyword_only = true;
      } else {
        s.args.push_back(argument(keyword_only));
        if (!keyword_only) s.positional++;
      }
      skip();
      if (!accept(',')) break;
    }
    skip();
    if (!accept(')')) bad("expected )");
    skip();
    if (!accept('-') || !accept('>')) bad("expected ->");
    skip();
    s.returns = std::string(text_.substr(at_));
    s.returns_list = s.returns.find("[]") != std::string::npos;
    if (!s.returns.empty() && s.returns[0] == '(') {
      Reader r(std::string_view(s.returns).substr(1));
      for (r.skip(); r.at_ < r.text_.size() && r.peek() != ')'; r.skip()) {
        r.word();
        r.skip();
        if (std::isalpha(static_cast<unsigned char>(r.peek()))) s.result_names.push_back(r.word());
        r.skip();
        if (!r.accept(',')) break;
      }
    }
    return s;
  }

 private:
  Argument argument(bool keyword_only) {
    Argument a;
    a.keyword_only = keyword_only;
    skip();
    size_t start = at_;
    std::string type = word();
    if (type == "Tensor" && peek() == '|') {
      at_++;
      if (word() != "Scalar") bad("expected Tensor|Scalar");
      a.type = ArgType::TensorOrScalar;
    } else if (type == "Tensor")
      a.type = ArgType::Tensor;
    else if (type == "int")
      a.type = ArgType::Int;
    else if (type == "float")
      a.type = ArgType::Float;
    else if (type == "bool")
      a.type = ArgType::Bool;
    else if (type == "Scalar")
      a.type = ArgType::Scalar;
    else if (type == "str")
      a.type = ArgType::String;
    else if (type == "dtype")
      a.type = ArgType::DType;
    else if (type == "layout")
      a.type = ArgType::Layout;
    else if (type == "device")
      a.type = ArgType::Device;
    else if (type == "memory_format")
      a.type = ArgType::MemoryFormat;
    else if (type == "Generator")
      a.type = ArgType::Generator;
    else if (type == "any")
      a.type = ArgType::Any;
    else
      bad("unknown type " + type);
    if (peek() == '?') {
      at_++;
      if (peek() == '[')
        a.element_optional = true;
      else
        a.optional = true;
    }
    if (accept('[')) {
      while (std::isdigit(static_cast<unsigned char>(peek()))) a.repeat = a.repeat * 10 + (text_[at_++] - '0');
      if (!accept(']')) bad("expected ]");
      a.type = a.type == ArgType::Tensor  ? ArgType::TensorList
               : a.type == ArgType::Int   ? ArgType::IntList
               : a.type == ArgType::Float ? ArgType::FloatList
                                          : ArgType::ScalarList;
      if (accept('?')) a.optional = true;
    }
    a.type_text = std::string(text_.substr(start, at_ - start));
    skip();
    a.name = word();
    skip();
    if (accept('=')) {
      a.has_default = true;
      read_default(a);
    }
    return a;
  }

  void read_default(Argument& a) {
    skip();
    if (peek() == '\'' || peek() == '"') {
      char quote = text_[at_++];
      a.default_text = until(std::string(1, quote).c_str());
      at_++;
      return;
    }
    if (accept('[')) {
      std::string inside = until("]");
      at_++;
      a.default_text = "[" + inside + "]";
      for (size_t i = 0; i < inside.size();) {
        size_t used;
        a.default_ints.push_back(std::stoll(inside.substr(i), &used));
        i += used;
        while (i < inside.size() && (inside[i] == ',' || inside[i] == ' ')) i++;
      }
      return;
    }
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')') a.default_text += text_[at_++];
    while (!a.default_text.empty() && a.default_text.back() == ' ') a.default_text.pop_back();
  }

  std::string word() {
    std::string s;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      s += text_[at_++];
    return s;
  }
  std::string until(const char* stops) {
    std::string s;
    while (at_ < text_.size() && !std::strchr(stops, text_[at_])) s += text_[at_++];
    return s;
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  [[noreturn]] void bad(const std::string& why) { fail("schema ", std::string(text_), ": ", why, " at column ", at_); }

  std::string_view text_;
  size_t at_ = 0;
};

// Defaults become values once the arguments stand where they stay.
void make_default(Argument& a) {
  const std::string& t = a.default_text;
  if (!a.has_default || t == "None") return;
  switch (a.type) {
    case ArgType::Bool:
      a.default_value = Value(t == "True");
      break;
    case ArgType::Int:
      a.default_value = Value(static_cast<int64_t>(std::stoll(t)));
      break;
    case ArgType::Float:
      a.default_value = Value(t == "inf" ? INFINITY : t == "-inf" ? -INFINITY : t == "nan" ? NAN : std::stod(t));
      break;
    case ArgType::Scalar:
    case ArgType::TensorOrScalar:
      if (t == "True" || t == "False")
        a.default_value = Value(t == "True");
      else if (t == "inf" || t == "-inf")
        a.default_value = Value(t[0] == '-' ? -INFINITY : INFINITY);
      else if (t.find_first_of(".e") == std::string::npos)
        a.default_value = Value(static_cast<int64_t>(std::stoll(t)));
      else
        a.default_value = Value(std::stod(t));
      break;
    case ArgType::IntList:
      if (a.default_ints.empty() && t[0] != '[') a.default_ints.assign(std::max(a.repeat, 1), std::stoll(t));
      a.default_value = Value(IntList(a.default_ints.data(), a.default_ints.size()));
      break;
    case ArgType::String:
      a.default_value = Value(std::string_view(t));
      break;
    case ArgType::MemoryFormat:
      a.default_value = Value(t == "preserve_format" ? MemoryFormat::Preserve : MemoryFormat::Contiguous);
      break;
    case ArgType::TensorList:
      a.default_value = Value(TensorList());
      break;
    case ArgType::Any:
      if (t == "True" || t == "False")
        a.default_value = Value(t == "True");
      else if (t.find_first_not_of("-0123456789") == std::string::npos)
        a.default_value = Value(static_cast<int64_t>(std::stoll(t)));
      else if (t.find_first_not_of("-0123456789.e") == std::string::npos)
        a.default_value = Value(std::stod(t));
      else
        a.default_value = Value(std::string_view(t));
      break;
    default:
      fail("schema: argument ", a.name, " can't have the default ", t);
  }
}

}  // namespace

Schema parse_schema(const char* text) { return Reader(text).read(); }

int Schema::argument(std::string_view n) const {
  for (size_t i = 0; i < args.size(); i++)
    if (args[i].name == n) return static_cast<int>(i);
  return -1;
}

void finish_schema(Schema& s) {
  for (Argument& a : s.args) {
    make_default(a);
    a.interned = PyUnicode_InternFromString(a.name.c_str());
  }
}

const char* type_name(ArgType type) {
  switch (type) {
    case ArgType::Tensor:
      return "Tensor";
    case ArgType::TensorOrScalar:
      return "Tensor or number";
    case ArgType::TensorList:
      return "tuple of Tensors";
    case ArgType::Int:
      return "int";
    case ArgType::IntList:
      return "tuple of ints";
    case ArgType::Float:
      return "float";
    case ArgType::FloatList:
      return "tuple of floats";
    case ArgType::Bool:
      return "bool";
    case ArgType::Scalar:
      return "Number";
    case ArgType::ScalarList:
      return "tuple of numbers";
    case ArgType::String:
      return "str";
    case ArgType::DType:
      return "torch.dtype";
    case ArgType::Layout:
      return "torch.layout";
    case ArgType::Device:
      return "torch.device";
    case ArgType::MemoryFormat:
      return "torch.memory_format";
    case ArgType::Generator:
      return "torch.Generator";
    case ArgType::Any:
      return "object";
  }
  return "object";
}

}  // namespace fl
