// Errors carry the exception class Python should see and a message built from parts.
#pragma once
#include <exception>
#include <sstream>
#include <string>

namespace fl {

enum class ErrorKind {
  Runtime,
  Type,
  Value,
  Index,
  NotImplemented,
  OutOfMemory,
  Overflow,
  Attribute,
  Linalg,
  Key,
  Buffer,
  ZeroDivision,
  Assertion
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

// A Python exception is set; unwind to the boundary and leave it as it is.
class PythonError : public std::exception {};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Parts&... parts) {
  std::ostringstream out;
  out << std::boolalpha;
  (out << ... << parts);
  throw Error(kind, out.str());
}
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  fail(ErrorKind::Runtime, parts...);
}
// The parts are only put together when the condition does not hold.
#define FL_CHECK(condition, ...)                                    \
  do {                                                              \
    if (__builtin_expect(!(condition), 0)) ::fl::fail(__VA_ARGS__); \
  } while (0)

}  // namespace fl
