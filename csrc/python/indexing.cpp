// x[...] and x[...] = value: views for ints, slices, None and Ellipsis; the index op for tensors, lists and masks.
#include "dispatch/dispatch.h"
#include "ops/api.h"
#include "python/data.h"
#include "python/tensor_type.h"
#include "tensor/view.h"

namespace fl {
namespace {

struct Index {
  Tensor view;                  // after everything that is a view
  std::vector<Tensor> tensors;  // per dimension of the view; undefined: all of it
  bool advanced = false;
};

// The view so far. Where autograd doesn't look on, only sizes and strides change and one tensor is made at the end.
class Cursor {
 public:
  explicit Cursor(const Tensor& t)
      : tensor_(t), recorded_(layer_flags(t.get()) & thread_state.enabled & kRequiresGrad) {
    if (recorded_) return;
    sizes_ = Dims(t.sizes());
    strides_ = Dims(t.strides());
    offset_ = t.offset();
  }
  int64_t dim() const { return recorded_ ? tensor_.dim() : static_cast<int64_t>(sizes_.size()); }
  int64_t size(int64_t d) const {
    FL_CHECK(d < dim(), ErrorKind::Index, "too many indices: there is no dimension ", d, " in a tensor of ", dim(),
             " dimensions");
    return recorded_ ? tensor_->sizes[d] : sizes_[d];
  }
  void select(int64_t d, int64_t index) {
    int64_t n = size(d);
    FL_CHECK(index >= -n && index < n, ErrorKind::Index, "index ", index, " is out of bounds for dimension ", d,
             " with size ", n);
    if (recorded_) {
      tensor_ = fl::select(tensor_, d, index);
      return;
    }
    offset_ += (index < 0 ? index + n : index) * strides_[d];
    sizes_.erase(d);
    strides_.erase(d);
    changed_ = true;
  }
  void slice(int64_t d, int64_t start, int64_t stop, int64_t step) {
    if (start == 0 && stop == size(d) && step == 1) return;
    if (recorded_) {
      static const Op slice_of("slice");
      tensor_ = slice_of(tensor_, d, start, stop, step);
      return;
    }
    offset_ += start * strides_[d];
    sizes_[d] = stop > start ? (stop - start - 1) / step + 1 : 0;
    strides_[d] *= step;
    changed_ = true;
  }
  void unsqueeze(int64_t d) {
    FL_CHECK(d <= dim(), ErrorKind::Index, "too many indices: there is no dimension ", d, " in a tensor of ", dim(),
             " dimensions");
    if (recorded_) {
      tensor_ = fl::unsqueeze(tensor_, d);
      return;
    }
    strides_.insert(d, d < dim() ? sizes_[d] * strides_[d] : 1);
    sizes_.insert(d, 1);
    changed_ = true;
  }
  Tensor finish() const { return changed_ ? make_view(tensor_, sizes_, strides_, offset_) : tensor_; }

 private:
  Tensor tensor_;
  bool recorded_, changed_ = false;
  Dims sizes_, strides_;
  int64_t offset_ = 0;
};

struct Items {
  PyRef owner;
  PyObject* single;
  PyObject* const* data;
  Py_ssize_t count;
};

// The parts of a key. A short list that holds more than numbers stands for a tuple, as in old NumPy.
Items items_of(PyObject* key) {
  Items r{{}, key, nullptr, 1};
  if (PyTuple_Check(key)) {
    r.data = reinterpret_cast<PyTupleObject*>(key)->ob_item;
    r.count = PyTuple_GET_SIZE(key);
  } else if (PyList_Check(key) && PyList_GET_SIZE(key) < 32) {
    bool as_tuple = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key) && !as_tuple; i++) {
      PyObject* o = PyList_GET_ITEM(key, i);
      as_tuple = o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || is_tensor(o) || PySequence_Check(o);
    }
    if (!as_tuple) return r;
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "indexing with a list that holds more than numbers means a tuple of indices; write "
                     "x[tuple(list)], or x[tensor(list)] for positions",
                     1) < 0)
      throw PythonError();
    r.owner = checked(PyList_AsTuple(key));
    r.data = reinterpret_cast<PyTupleObject*>(r.owner.get())->ob_item;
    r.count = PyTuple_GET_SIZE(r.owner.get());
  }
  return r;
}

int64_t count_dims(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item)) {
    const Tensor& t = as_tensor(item);
    if (t.dtype() == DType::Bool || t.dtype() == DType::UInt8) return t.dim();
  }
  return 1;
}

Tensor index_tensor(PyObject* item) {
  if (is_tensor(item)) return Tensor::share(item);
  FL_CHECK(PySequence_Check(item) || is_array(item), ErrorKind::Index,
           "only integers, slices (`:`), ellipsis (`...`), None, sequences and tensors of integers or bools are valid "
           "indices, got ",
           Py_TYPE(item)->tp_name);
  Tensor t = tensor_from_data(item, std::nullopt, "index");
  return t.dtype() == DType::Bool || t.dtype() == DType::UInt8 ? t : to_dtype(t, DType::Int64);
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
    FL_CHECK(to_int(o, &v), ErrorKind::Type,
             "slice indices must be integers or None or have an __index__ method: ", name, " is ", Py_TYPE(o)->tp_name);
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

bool small_int(PyObject* item, int64_t* value) {
  if (PyLong_CheckExact(item)) {
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(item, &overflow);
    FL_CHECK(!overflow, ErrorKind::Value, "an index is too large for int64");
    return true;
  }
  return !is_tensor(item) && to_int(item, value);
}

Index resolve(const Tensor& self, PyObject* key) {
  Items items = items_of(key);
  PyObject* const* item_data = items.data ? items.data : &items.single;
  int64_t named = 0;
  for (Py_ssize_t i = 0; i < items.count; i++) named += count_dims(item_data[i]);
  FL_CHECK(named <= self.dim(), ErrorKind::Index, "too many indices for tensor of dimension ", self.dim(), ": got ",
           named);
  Index r;
  Cursor cursor(self);
  int64_t dim = 0, inside_masks = 0;  // dimensions that masks cover besides their first
  auto put = [&](Tensor t, int64_t covered) {
    while (static_cast<int64_t>(r.tensors.size()) + inside_masks < dim) r.tensors.emplace_back();
    r.tensors.push_back(std::move(t));
    r.advanced = true;
    dim += covered;
    inside_masks += covered - 1;
  };
  for (Py_ssize_t i = 0; i < items.count; i++) {
    PyObject* item = item_data[i];
    int64_t v;
    if (item == Py_None) {
      cursor.unsqueeze(dim++);
    } else if (item == Py_Ellipsis) {
      dim += self.dim() - named;
    } else if (PySlice_Check(item)) {
      int64_t start, stop, step;
      slice_bounds(item, cursor.size(dim), &start, &stop, &step);
      cursor.slice(dim++, start, stop, step);
    } else if (PyBool_Check(item)) {
      cursor.unsqueeze(dim);
      put(full(Dims{1}, Scalar(item == Py_True), DType::Bool), 1);
    } else if (small_int(item, &v)) {
      cursor.select(dim, v);
    } else {
      Tensor t = index_tensor(item);
      if (t.dim() == 0 && is_integral(t.dtype(), false) && t.dtype() != DType::UInt8 && !t.is_meta()) {
        Tensor at = empty(Dims(), DType::Int64);
        raw_copy(at, t);
        cursor.select(dim, *at.data<int64_t>());
      } else if (t.dim() == 0 && (t.dtype() == DType::Bool || t.dtype() == DType::UInt8)) {
        cursor.unsqueeze(dim);
        put(reshape(t, Dims{1}), 1);
      } else {
        bool mask = t.dtype() == DType::Bool || t.dtype() == DType::UInt8;
        if (t.dtype() == DType::UInt8 &&
            PyErr_WarnEx(PyExc_UserWarning, "indexing with a uint8 tensor means a mask; use bool for masks", 1) < 0)
          throw PythonError();
        put(t, mask ? t.dim() : 1);
      }
    }
  }
  r.view = cursor.finish();
  return r;
}

bool is_overridden(const Tensor& t) { return t->flags & kOverride && !thread_state.function_disabled; }
bool has_override(const Tensor& self, PyObject* key) {
  if (is_overridden(self) || (thread_state.function_modes && !thread_state.function_modes_disabled)) return true;
  if (is_tensor(key)) return is_overridden(as_tensor(key));
  if (PyTuple_CheckExact(key))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
      if (PyObject* item = PyTuple_GET_ITEM(key, i); is_tensor(item) && is_overridden(as_tensor(item))) return true;
  return false;
}

PyObject* get_item(PyObject* o, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Tensor& self = as_tensor(o);
    if (has_override(self, key)) {
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

// What is assigned may have more leading dimensions of size one than what it is assigned to.
Tensor without_leading_ones(Tensor t) {
  int64_t lead = 0;
  while (lead < t.dim() && t->sizes[lead] == 1) lead++;
  return lead ? reshape(t, t.sizes().subspan(lead)) : t;
}

int set_item(PyObject* o, PyObject* key, PyObject* value) {
  return guarded_int([&]() -> int {
    FL_CHECK(value, ErrorKind::Type, "Tensor does not support deleting items");
    const Tensor& self = as_tensor(o);
    if (has_override(self, key) || (is_tensor(value) && is_overridden(as_tensor(value)))) {
      static PyObject* method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__setitem__");
      PyObject* args[3] = {o, key, value};
      PyRef r = checked(call_torch_function(method, args, 3, nullptr));
      return 0;
    }
    static const Op copy("copy_"), fill("fill_"), index_put("index_put");
    Scalar number;
    bool is_number = !is_tensor(value) && to_scalar(value, &number);
    FL_CHECK(is_number || is_tensor(value), ErrorKind::Type, "__setitem__: can't assign a ", Py_TYPE(value)->tp_name,
             " to a tensor; expected a number or a Tensor");
    Index r = resolve(self, key);
    if (!r.advanced) {
      if (is_number) {
        fill.run(r.view, number);
        return 0;
      }
      Tensor source = Tensor::share(value);
      copy.run(r.view, source.dim() > r.view.dim() ? without_leading_ones(source) : source);
      return 0;
    }
    if (is_number) {
      Tensor source = empty(Dims(), self.dtype(), self.device());
      fill.run(source, number);
      index_put.in_place(r.view, r.tensors, source, false);
    } else {
      index_put.in_place(r.view, r.tensors, without_leading_ones(Tensor::share(value)), false);
    }
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
