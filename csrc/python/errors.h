// Between C++ exceptions and Python's, and an owning pointer to a Python object.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace fl {

class PyRef {
 public:
  PyRef() = default;
  static PyRef take(PyObject* o) {
    PyRef r;
    r.p_ = o;
    return r;
  }
  static PyRef share(PyObject* o) {
    Py_XINCREF(o);
    return take(o);
  }
  PyRef(const PyRef& o) : p_(o.p_) { Py_XINCREF(p_); }
  PyRef(PyRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  PyRef& operator=(PyRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* detach() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_; }

 private:
  PyObject* p_ = nullptr;
};

// A new reference, or the Python exception as a C++ one.
inline PyRef checked(PyObject* o) {
  if (!o) throw PythonError();
  return PyRef::take(o);
}

// A Python string for messages. What UTF-8 can't hold is shown escaped; never fails.
std::string text_of(PyObject* string);

// Turns the exception being handled into a Python one. Call inside catch (...).
void set_python_error();

// Runs f() and returns what it returns; on an exception sets Python's and returns null.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

extern PyObject* out_of_memory_error;  // torch.OutOfMemoryError
extern PyObject* linalg_error;         // torch.linalg.LinAlgError

}  // namespace fl
