#include "python/data.h"

#include "dispatch/dispatch.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

constexpr int kMaxNesting = 64;

bool is_sequence(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return true;
  if (PyUnicode_Check(o) || PyBytes_Check(o) || is_tensor(o)) return false;
  return PySequence_Check(o) && Py_TYPE(o)->tp_as_sequence && Py_TYPE(o)->tp_as_sequence->sq_length && !PyDict_Check(o);
}

PyRef fast_sequence(PyObject* o) { return checked(PySequence_Fast(o, "expected a sequence")); }

// The sizes along the first elements; the rest is checked while it is read.
Dims measure(PyObject* data, const char* op) {
  Dims sizes;
  PyRef current = PyRef::share(data);
  while (true) {
    PyObject* o = current.get();
    if (is_tensor(o)) {
      // A tensor alone is the data; within a sequence it stands for a number.
      if (sizes.empty())
        for (int64_t s : as_tensor(o).sizes()) sizes.push_back(s);
      return sizes;
    }
    if (is_array(o) || !is_sequence(o)) return sizes;
    PyRef s = fast_sequence(o);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(s.get());
    sizes.push_back(n);
    FL_CHECK(sizes.size() <= kMaxNesting, ErrorKind::Value, op, ": too many dimensions: the data is nested more than ",
             kMaxNesting, " deep");
    if (n == 0) return sizes;
    current = PyRef::share(PySequence_Fast_GET_ITEM(s.get(), 0));
  }
}

struct Inferred {
  DType dtype;
  bool any = false;
  void add(DType d) {
    dtype = any ? promote(dtype, d) : d;
    any = true;
  }
};

void infer(PyObject* o, Inferred& r, const char* op, int depth = 0) {
  if (PyFloat_CheckExact(o)) return r.add(default_dtype());
  if (PyBool_Check(o)) return r.add(DType::Bool);
  if (PyLong_Check(o)) return r.add(DType::Int64);
  if (PyComplex_Check(o)) return r.add(complex_of(default_dtype()));
  if (is_tensor(o)) return r.add(as_tensor(o).dtype());
  if (is_array(o)) return r.add(tensor_from_array(o, op).dtype());
  if (is_sequence(o)) {
    FL_CHECK(depth < kMaxNesting, ErrorKind::Value, op, ": too many dimensions: the data is nested more than ",
             kMaxNesting, " deep");
    PyRef s = fast_sequence(o);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(s.get()); i++)
      infer(PyRef::share(PySequence_Fast_GET_ITEM(s.get(), i)).get(), r, op, depth + 1);
    return;
  }
  Scalar s;
  FL_CHECK(!PyUnicode_Check(o) && !PyBytes_Check(o), ErrorKind::Type, op, ": new(): invalid data type '",
           Py_TYPE(o)->tp_name, "': expected numbers");
  FL_CHECK(to_scalar(o, &s), op, ": could not infer dtype of ", Py_TYPE(o)->tp_name);
  PyRef dtype = PyRef::take(PyObject_GetAttrString(o, "dtype"));
  PyErr_Clear();
  PyRef name = dtype ? PyRef::take(PyObject_Str(dtype.get())) : PyRef();
  if (name)
    for (int i = 0; i < kNumDTypes; i++)
      if (kDTypeInfo[i].name == text_of(name.get())) return r.add(static_cast<DType>(i));
  r.add(s.natural_dtype());
}

template <class T>
T checked_number(const Scalar& s, const char* op) {
  if constexpr (std::is_integral_v<T>) {
    if (s.is_floating()) {
      double least = static_cast<double>(std::numeric_limits<T>::min()),
             most = static_cast<double>(std::numeric_limits<T>::max());
      FL_CHECK(s.d >= (std::is_signed_v<T> ? least : -most) && s.d <= most, op, ": value ", s.d,
               " cannot be converted to type ", info(dtype_of<T>).name, " without overflow");
      return static_cast<T>(s.to_int());
    }
    FL_CHECK(!s.is_complex(), ErrorKind::Type, op, ": can't convert a complex number to an integer type");
    if constexpr (!std::is_same_v<T, uint64_t> && !std::is_same_v<T, int64_t>)
      FL_CHECK(s.i >= (std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min())
                                           : -static_cast<int64_t>(std::numeric_limits<T>::max())) &&
                   s.i <= static_cast<int64_t>(std::numeric_limits<T>::max()),
               op, ": value ", s.i, " cannot be converted to type ", info(dtype_of<T>).name, " without overflow");
    return static_cast<T>(s.i);
  } else if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>> ||
                       std::is_same_v<T, Bool>) {
    return s.to<T>();
  } else {
    FL_CHECK(!s.is_complex(), ErrorKind::Type, op, ": can't convert a complex number to a real type");
    return s.to<T>();
  }
}

char* write_number(PyObject* o, char* at, DType dtype, const char* op) {
  Scalar s;
  FL_CHECK(!PyUnicode_Check(o) && !PyBytes_Check(o), ErrorKind::Type, op, ": new(): invalid data type '",
           Py_TYPE(o)->tp_name, "'");
  if (PyLong_CheckExact(o) && dtype != DType::UInt64) {
    int overflow;
    PyLong_AsLongLongAndOverflow(o, &overflow);
    FL_CHECK(!overflow, ErrorKind::Value, op,
             ": Overflow when unpacking long long: an int in the data doesn't fit int64");
  }
  FL_CHECK(to_scalar(o, &s), is_sequence(o) ? ErrorKind::Value : ErrorKind::Type, op,
           ": expected a number at this depth of the data, got ", Py_TYPE(o)->tp_name);
  visit_dtype(dtype, [&]<class T>() { *reinterpret_cast<T*>(at) = checked_number<T>(s, op); });
  return at + item_size(dtype);
}

char* write(PyObject* o, char* at, DType dtype, IntList sizes, size_t depth, const char* op) {
  if (is_tensor(o)) {
    const Tensor& t = as_tensor(o);
    FL_CHECK(t.numel() == 1, ErrorKind::Value, op,
             ": only one element tensors can be converted to Python scalars, got one of sizes ", shape_text(t.sizes()),
             "; stack() joins tensors");
    FL_CHECK(depth == sizes.size(), ErrorKind::Type, op, ": expected a sequence of length ", sizes[depth], " at dim ",
             depth, ", got a tensor");
    FL_CHECK(!t.is_meta(), op, ": can't read values of a meta tensor");
    int64_t one = 1;
    Tensor dense = empty({}, dtype);
    raw_copy(dense, alias(t, {&one, 0}, {&one, 0}, t.offset()));
    std::memcpy(at, dense.bytes(), item_size(dtype));
    return at + item_size(dtype);
  }
  if (is_array(o)) {
    Tensor t = tensor_from_array(o, op);
    FL_CHECK(equal(t.sizes(), sizes.subspan(depth)), ErrorKind::Value, op, ": expected an element of sizes ",
             shape_text(sizes.subspan(depth)), " at dim ", depth, ", got ", shape_text(t.sizes()));
    Tensor dense = empty(t.sizes(), dtype);
    raw_copy(dense, t);
    std::memcpy(at, dense.bytes(), dense.numel() * item_size(dtype));
    return at + dense.numel() * item_size(dtype);
  }
  if (depth == sizes.size()) return write_number(o, at, dtype, op);
  FL_CHECK(is_sequence(o), ErrorKind::Type, op, ": expected a sequence of length ", sizes[depth], " at dim ", depth,
           ", got ", Py_TYPE(o)->tp_name);
  PyRef s = fast_sequence(o);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(s.get());
  FL_CHECK(n == sizes[depth], ErrorKind::Value, op, ": expected sequence of length ", sizes[depth], " at dim ", depth,
           " (got ", n, ")");
  for (Py_ssize_t i = 0; i < n; i++) {
    FL_CHECK(PySequence_Fast_GET_SIZE(s.get()) == n, ErrorKind::Value, op,
             ": the data changed its length while it was read");
    PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(s.get(), i));
    PyObject* x = item.get();
    if (depth + 1 == sizes.size() && PyFloat_CheckExact(x) && dtype == DType::Float) {
      *reinterpret_cast<float*>(at) = static_cast<float>(PyFloat_AS_DOUBLE(x));
      at += 4;
    } else {
      at = write(x, at, dtype, sizes, depth + 1, op);
    }
  }
  return at;
}

PyObject* list_of(const Tensor& t, int64_t depth, const char* at) {
  if (depth == t.dim()) {
    return visit_dtype(t.dtype(), [&]<class T>() -> PyObject* {
      T v = *reinterpret_cast<const T*>(at);
      if constexpr (std::is_same_v<T, Bool>)
        return PyBool_FromLong(bool(v));
      else if constexpr (std::is_same_v<T, uint64_t>)
        return PyLong_FromUnsignedLongLong(v);
      else if constexpr (std::is_integral_v<T>)
        return PyLong_FromLongLong(v);
      else if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
        return PyComplex_FromDoubles(v.real, v.imag);
      else
        return PyFloat_FromDouble(static_cast<double>(v));
    });
  }
  int64_t n = t->sizes[depth], step = t->strides[depth] * t.item_size();
  PyObject* list = PyList_New(n);
  if (!list) throw PythonError();
  for (int64_t i = 0; i < n; i++) {
    PyObject* x = list_of(t, depth + 1, at + i * step);
    if (!x) {
      Py_DECREF(list);
      throw PythonError();
    }
    PyList_SET_ITEM(list, i, x);
  }
  return list;
}

}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, const char* op) {
  if (is_tensor(data) || is_array(data)) {
    Tensor t = is_tensor(data) ? Tensor::share(data) : tensor_from_array(data, op);
    Tensor r = empty(t.sizes(), dtype.value_or(t.dtype()), t.device());
    NoGrad guard;
    raw_copy(r, t);
    return r;
  }
  FL_CHECK(!PyUnicode_Check(data) && !PyBytes_Check(data), ErrorKind::Type, op, ": new(): invalid data type '",
           Py_TYPE(data)->tp_name, "': expected numbers");
  FL_CHECK(is_number(data) || is_sequence(data), op, ": could not infer dtype of ", Py_TYPE(data)->tp_name,
           ": expected a number or a nested sequence of numbers");
  Dims sizes = measure(data, op);
  if (!dtype) {
    Inferred r;
    infer(data, r, op);
    dtype = r.any ? r.dtype : default_dtype();
  }
  Tensor t = empty(sizes, *dtype);
  write(data, t.bytes(), *dtype, sizes, 0, op);
  return t;
}

PyObject* to_list(const Tensor& t) {
  FL_CHECK(!t.is_meta(), ErrorKind::NotImplemented, "tolist: a meta tensor has no values");
  return list_of(t, 0, t.bytes());
}

PyObject* item_object(const Tensor& t) {
  FL_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  FL_CHECK(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
  return list_of(t, t.dim(), t.bytes());
}

}  // namespace fl
