// x[...] and x[...] = value: views for ints, slices, None and Ellipsis; the index op for tensors, lists and masks.
#include "dispatch/dispatch.h"
#include "ops/api.h"
#include "python/data.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

struct Index {
  Tensor view;                  // after everything that is a view
  std::vector<Tensor> tensors;  // per dimension of the view; undefined: all of it
  bool advanced = false;
};

int64_t count_dims(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item)) {
    const Tensor& t = as_tensor(item);
    if (t.dtype() == DType::Bool || t.dtype() == DType::UInt8) return t.dim();
  }
  return 1;
}

// A sequence that means a tuple of indices (torch keeps NumPy's old rule: a list with slices or tensors inside).
PyRef as_items(PyObject* key) {
  if (PyTuple_Check(key)) return PyRef::share(key);
  return checked(PyTuple_Pack(1, key));
}

Tensor index_tensor(PyObject* item, const Tensor& self) {
  if (is_tensor(item)) return Tensor::share(item);
  Tensor t = tensor_from_data(item, std::nullopt, "index");
  if (t.numel() == 0 && is_floating(t.dtype())) t = to_dtype(t, DType::Int64);
  (void)self;
  return t;
}

void slice_bounds(PyObject* item, int64_t size, int64_t* start, int64_t* stop, int64_t* step) {
  auto part = [&](PyObject* o, int64_t missing, const char* name) {
    if (o == Py_None) return missing;
    int64_t v;
    if (PyLong_Check(o)) {
      int overflow;
      v = PyLong_AsLongLongAndOverflow(o, &overflow);
      return overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : v;
    }
    FL_CHECK(to_int(o, &v), ErrorKind::Type, "slice indices must be integers or None or have an __index__ method: ", name, " is ", Py_TYPE(o)->tp_name);
    return v;
  };
  PySliceObject* s = reinterpret_cast<PySliceObject*>(item);
  *step = part(s->step, 1, "step");
  FL_CHECK(*step > 0, ErrorKind::Value, "step must be greater than zero, got ", *step);
  *start = part(s->start, 0, "start");
  *stop = part(s->stop, INT64_MAX, "stop");
  if (*start < 0) *start = std::max<int64_t>(*start + size, 0);
  if (*stop < 0) *stop = std::max<int64_t>(*stop + size, 0);
  *start = std::min(*start, size);
  *stop = std::max(std::min(*stop, size), *start);
}

Index resolve(const Tensor& self, PyObject* key) {
  static const Op slice("slice");
  PyRef items = as_items(key);
  Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  int64_t named = 0;
  bool ellipsis = false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    named += count_dims(item);
    if (item == Py_Ellipsis) {
      FL_CHECK(!ellipsis, ErrorKind::Index, "an index can only have a single ellipsis ('...')");
      ellipsis = true;
    }
  }
  FL_CHECK(named <= self.dim(), ErrorKind::Index, "too many indices for tensor of dimension ", self.dim(), ": got ", named);
  Index r;
  r.view = self;
  int64_t dim = 0;
  auto put = [&](Tensor t, int64_t consumed) {
    while (static_cast<int64_t>(r.tensors.size()) < dim) r.tensors.emplace_back();
    r.tensors.push_back(std::move(t));
    r.advanced = true;
    dim += consumed;
  };
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    int64_t v;
    if (item == Py_None) {
      r.view = unsqueeze(r.view, dim++);
    } else if (item == Py_Ellipsis) {
      dim += self.dim() - named;
    } else if (PySlice_Check(item)) {
      int64_t size = r.view->sizes[dim], start, stop, step;
      slice_bounds(item, size, &start, &stop, &step);
      if (start != 0 || stop != size || step != 1) r.view = slice(r.view, dim, start, stop, step);
      dim++;
    } else if (PyBool_Check(item)) {
      r.view = unsqueeze(r.view, dim);
      put(full(Dims{1}, Scalar(item == Py_True), DType::Bool), 1);
    } else if (!is_tensor(item) && to_int(item, &v)) {
      int64_t size = r.view->sizes[dim];
      FL_CHECK(v >= -size && v < size, ErrorKind::Index, "index ", v, " is out of bounds for dimension ", dim, " with size ", size);
      r.view = select(r.view, dim, v);
    } else {
      Tensor t = index_tensor(item, self);
      if (t.dim() == 0 && is_integral(t.dtype(), false) && t.dtype() != DType::UInt8 && !t.is_meta()) {
        Scalar s;
        Tensor plain = alias(t);
        to_scalar(plain.object(), &s);
        int64_t size = r.view->sizes[dim], at = s.to_int();
        FL_CHECK(at >= -size && at < size, ErrorKind::Index, "index ", at, " is out of bounds for dimension ", dim, " with size ", size);
        r.view = select(r.view, dim, at);
      } else if (t.dim() == 0 && t.dtype() == DType::Bool) {
        r.view = unsqueeze(r.view, dim);
        put(reshape(t, Dims{1}), 1);
      } else {
        FL_CHECK(is_integral(t.dtype(), true), ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors, got ", info(t.dtype()).name);
        bool mask = t.dtype() == DType::Bool || t.dtype() == DType::UInt8;
        put(t, mask ? t.dim() : 1);
      }
    }
  }
  return r;
}

PyObject* get_item(PyObject* o, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Tensor& self = as_tensor(o);
    if ((self->flags & kOverride && !thread_state.function_disabled) || (thread_state.function_modes && !thread_state.function_modes_disabled) ||
        (is_tensor(key) && as_tensor(key)->flags & kOverride && !thread_state.function_disabled)) {
      static PyObject* method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__getitem__");
      PyObject* args[2] = {o, key};
      return call_torch_function(method, args, 2, nullptr);
    }
    static const Op index("index"), view_of("alias");
    Index r = resolve(self, key);
    if (r.advanced) return to_python(index(r.view, r.tensors));
    return to_python(r.view.is(self) ? view_of(self) : r.view);
  });
}

int set_item(PyObject* o, PyObject* key, PyObject* value) {
  return guarded_int([&]() -> int {
    FL_CHECK(value, ErrorKind::Type, "Tensor does not support deleting items");
    const Tensor& self = as_tensor(o);
    if ((self->flags & kOverride && !thread_state.function_disabled) || (thread_state.function_modes && !thread_state.function_modes_disabled)) {
      static PyObject* method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__setitem__");
      PyObject* args[3] = {o, key, value};
      PyRef r = checked(call_torch_function(method, args, 3, nullptr));
      return 0;
    }
    static const Op copy("copy_"), fill("fill_"), index_put("index_put");
    check_writable(self, "__setitem__");
    Index r = resolve(self, key);
    Tensor source;
    Scalar number;
    bool is_scalar = !is_tensor(value) && to_scalar(value, &number);
    if (!is_scalar) source = is_tensor(value) ? Tensor::share(value) : tensor_from_data(value, self.dtype(), "__setitem__");
    if (!r.advanced) {
      if (is_scalar) {
        fill.run(r.view, number);
        return 0;
      }
      // Leading dimensions of size one may be left over.
      while (source.dim() > r.view.dim() && source->sizes[0] == 1) source = squeeze(source, 0);
      copy.run(r.view, source);
      return 0;
    }
    if (is_scalar) source = scalar_tensor(number, self.dtype());
    else if (source.dtype() != self.dtype()) source = to_dtype(source, self.dtype());
    index_put.in_place(r.view, r.tensors, source, false);
    return 0;
  });
}

Py_ssize_t length(PyObject* o) {
  const Tensor& t = as_tensor(o);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return static_cast<Py_ssize_t>(t->sizes[0]);
}

}  // namespace

void add_indexing_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_mp_length, reinterpret_cast<void*>(length)});
  slots.push_back({Py_mp_subscript, reinterpret_cast<void*>(get_item)});
  slots.push_back({Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)});
}

}  // namespace fl
