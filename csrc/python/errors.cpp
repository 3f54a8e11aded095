#include "python/errors.h"

#include <new>

namespace fl {

PyObject* out_of_memory_error = nullptr;
PyObject* linalg_error = nullptr;

namespace {

PyObject* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Type:
      return PyExc_TypeError;
    case ErrorKind::Value:
      return PyExc_ValueError;
    case ErrorKind::Index:
      return PyExc_IndexError;
    case ErrorKind::NotImplemented:
      return PyExc_NotImplementedError;
    case ErrorKind::OutOfMemory:
      return out_of_memory_error ? out_of_memory_error : PyExc_RuntimeError;
    case ErrorKind::Overflow:
      return PyExc_OverflowError;
    case ErrorKind::Attribute:
      return PyExc_AttributeError;
    case ErrorKind::Linalg:
      return linalg_error ? linalg_error : PyExc_RuntimeError;
    case ErrorKind::Key:
      return PyExc_KeyError;
    case ErrorKind::Buffer:
      return PyExc_BufferError;
    case ErrorKind::ZeroDivision:
      return PyExc_RuntimeError;
    case ErrorKind::Assertion:
      return PyExc_AssertionError;
    case ErrorKind::Runtime:
      break;
  }
  return PyExc_RuntimeError;
}

}  // namespace

std::string text_of(PyObject* string) {
  PyRef bytes = PyRef::take(
      string && PyUnicode_Check(string) ? PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace") : nullptr);
  PyErr_Clear();
  return bytes ? std::string(PyBytes_AS_STRING(bytes.get()), PyBytes_GET_SIZE(bytes.get())) : std::string("?");
}

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error was reported without an exception");
  } catch (const Error& e) {
    PyErr_SetString(class_of(e.kind()), e.message().c_str());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(class_of(ErrorKind::OutOfMemory), "not enough memory");
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown error");
  }
}

}  // namespace fl
