// Attributes and those methods of Tensor that are no ops.
#include "autograd/node.h"
#include "dispatch/dispatch.h"
#include "ops/api.h"
#include "python/autograd.h"
#include "python/data.h"
#include "python/storage.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

PyObject* new_ref(PyObject* o) {
  Py_INCREF(o);
  return o;
}
// A subclass with __torch_function__ also sees its attributes read.
#define GETTER(name) PyObject* get_##name(PyObject* self, void*)
GETTER(shape) {
  return guarded([&] { return new_size(as_tensor(self).sizes()); });
}
GETTER(dtype) { return new_ref(dtype_object(as_tensor(self).dtype())); }
GETTER(device) { return new_device(as_tensor(self).device()); }
GETTER(layout) {
  (void)self;
  return new_ref(layout_object(0));
}
GETTER(ndim) { return PyLong_FromLongLong(as_tensor(self).dim()); }
GETTER(itemsize) { return PyLong_FromLongLong(as_tensor(self).item_size()); }
GETTER(nbytes) { return PyLong_FromLongLong(as_tensor(self).item_size() * as_tensor(self).numel()); }
GETTER(requires_grad) { return PyBool_FromLong(as_tensor(self).requires_grad()); }
GETTER(is_leaf) {
  return guarded([&] { return PyBool_FromLong(is_leaf(as_tensor(self))); });
}
GETTER(grad_fn) {
  return guarded([&] {
    const Tensor& t = as_tensor(self);
    Node* n = t.requires_grad() ? grad_fn(t) : nullptr;
    return new_ref(n ? reinterpret_cast<PyObject*>(n) : Py_None);
  });
}
GETTER(output_nr) { return PyLong_FromLong(as_tensor(self)->autograd ? as_tensor(self)->autograd->slot : 0); }
GETTER(grad) {
  const Tensor& t = as_tensor(self);
  return new_ref(t->autograd && t->autograd->grad ? t->autograd->grad.object() : Py_None);
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const Tensor& t = as_tensor(self);
    if (!value || value == Py_None) {
      if (t->autograd) t->autograd->grad = Tensor();
      return 0;
    }
    FL_CHECK(is_tensor(value), ErrorKind::Type, "assigned grad expected to be a Tensor or None but got ",
             Py_TYPE(value)->tp_name);
    const Tensor& g = as_tensor(value);
    FL_CHECK(!g.is(t), "can't assign Variable as its own grad");
    FL_CHECK(equal(g.sizes(), t.sizes()), "assigned grad has data of a different size: ", shape_text(g.sizes()),
             ", expected ", shape_text(t.sizes()));
    FL_CHECK(g.dtype() == t.dtype(), "assigned grad has data of a different type: ", info(g.dtype()).name,
             ", expected ", info(t.dtype()).name);
    FL_CHECK(g.device() == t.device(),
             "assigned grad has data located on a different device: ", device_text(g.device()), ", expected ",
             device_text(t.device()));
    autograd_meta(t).grad = g;
    return 0;
  });
}
int set_requires_grad_attribute(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    FL_CHECK(value && PyBool_Check(value), "requires_grad must be a bool");
    change_requires_grad(as_tensor(self), value == Py_True);
    return 0;
  });
}
GETTER(data) {
  return guarded([&] {
    Tensor r = alias(as_tensor(self));
    r->flags |= kOwnVersion;
    // A class that takes no part in calls, as Parameter, is not what its data is.
    if (as_tensor(self)->flags & kOverride) r = make_subclass(Py_TYPE(self), r, false);
    return to_python(std::move(r));
  });
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    FL_CHECK(value && is_tensor(value), ErrorKind::Type, "Variable data has to be a tensor, but got ",
             value ? Py_TYPE(value)->tp_name : "nothing");
    const Tensor &t = as_tensor(self), &v = as_tensor(value);
    FL_CHECK(!t.requires_grad() || is_differentiable(v.dtype()),
             "data set to a tensor that requires gradients must be floating point or complex dtype");
    // Forget the accumulator: it expects gradients of the old type and sizes.
    if (t->autograd && t->autograd->accumulator) t->autograd->accumulator = nullptr;
    t->dtype = v.dtype();
    set_storage(t, v.storage(), v.offset());
    set_geometry(t, v.sizes(), v.strides(), v.offset());
    t->storage->writes++;
    return 0;
  });
}
GETTER(version) { return PyLong_FromUnsignedLong(as_tensor(self)->storage->version); }
GETTER(base) {
  TensorObject* b = as_tensor(self)->base;
  return new_ref(b ? reinterpret_cast<PyObject*>(b) : Py_None);
}
GETTER(is_cpu) { return PyBool_FromLong(as_tensor(self).device().type == DeviceType::CPU); }
GETTER(is_meta) { return PyBool_FromLong(as_tensor(self).is_meta()); }
GETTER(false) {
  (void)self;
  Py_RETURN_FALSE;
}
GETTER(names) {
  PyObject* t = PyTuple_New(as_tensor(self).dim());
  for (int64_t i = 0; i < as_tensor(self).dim(); i++) PyTuple_SET_ITEM(t, i, new_ref(Py_None));
  return t;
}
GETTER(name) {
  return new_ref(as_tensor(self)->autograd && as_tensor(self)->autograd->name ? as_tensor(self)->autograd->name
                                                                              : Py_None);
}
GETTER(retains_grad) { return PyBool_FromLong(as_tensor(self)->autograd && as_tensor(self)->autograd->retains_grad); }
GETTER(is_parameter) { return PyBool_FromLong(as_tensor(self)->flags & kParameter); }
int set_is_parameter(PyObject* self, PyObject* value, void*) {
  if (value == Py_True)
    as_tensor(self)->flags |= kParameter;
  else
    as_tensor(self)->flags &= ~kParameter;
  return 0;
}
GETTER(hooks) {
  const Tensor& t = as_tensor(self);
  return new_ref(t->autograd && t->autograd->hooks ? t->autograd->hooks : Py_None);
}
GETTER(post_hooks) {
  const Tensor& t = as_tensor(self);
  return new_ref(t->autograd && t->autograd->post_accumulate_hooks ? t->autograd->post_accumulate_hooks : Py_None);
}

GETTER(class) { return new_ref(reinterpret_cast<PyObject*>(Py_TYPE(self))); }
// As any object's, except that the new class may see calls that the old one did not, or the other way round.
int set_class(PyObject* self, PyObject* value, void*) {
  static PyObject* plain = PyDict_GetItemString(PyBaseObject_Type.tp_dict, "__class__");
  if (Py_TYPE(plain)->tp_descr_set(plain, self, value)) return -1;
  set_override_flag(reinterpret_cast<TensorObject*>(self));
  return 0;
}

PyGetSetDef attributes[] = {{"shape", get_shape, nullptr, "The sizes, a torch.Size.", nullptr},
                            {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
                            {"device", get_device, nullptr, nullptr, nullptr},
                            {"layout", get_layout, nullptr, nullptr, nullptr},
                            {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
                            {"itemsize", get_itemsize, nullptr, "Bytes of an element.", nullptr},
                            {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
                            {"requires_grad", get_requires_grad, set_requires_grad_attribute, nullptr, nullptr},
                            {"is_leaf", get_is_leaf, nullptr, nullptr, nullptr},
                            {"grad_fn", get_grad_fn, nullptr, nullptr, nullptr},
                            {"output_nr", get_output_nr, nullptr, nullptr, nullptr},
                            {"grad", get_grad, set_grad, nullptr, nullptr},
                            {"_grad", get_grad, set_grad, nullptr, nullptr},
                            {"data", get_data, set_data, nullptr, nullptr},
                            {"_version", get_version, nullptr, nullptr, nullptr},
                            {"_base", get_base, nullptr, nullptr, nullptr},
                            {"is_cpu", get_is_cpu, nullptr, nullptr, nullptr},
                            {"is_meta", get_is_meta, nullptr, nullptr, nullptr},
                            {"is_cuda", get_false, nullptr, nullptr, nullptr},
                            {"is_xpu", get_false, nullptr, nullptr, nullptr},
                            {"is_mps", get_false, nullptr, nullptr, nullptr},
                            {"is_xla", get_false, nullptr, nullptr, nullptr},
                            {"is_sparse", get_false, nullptr, nullptr, nullptr},
                            {"is_sparse_csr", get_false, nullptr, nullptr, nullptr},
                            {"is_quantized", get_false, nullptr, nullptr, nullptr},
                            {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
                            {"is_nested", get_false, nullptr, nullptr, nullptr},
                            {"names", get_names, nullptr, nullptr, nullptr},
                            {"name", get_name, nullptr, nullptr, nullptr},
                            {"retains_grad", get_retains_grad, nullptr, nullptr, nullptr},
                            {"_is_param", get_is_parameter, set_is_parameter, nullptr, nullptr},
                            {"_backward_hooks", get_hooks, nullptr, nullptr, nullptr},
                            {"_post_accumulate_grad_hooks", get_post_hooks, nullptr, nullptr, nullptr},
                            {"__class__", get_class, set_class, nullptr, nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {}};

// ---- methods

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyObject* dim = n == 1 ? args[0] : names && PyTuple_GET_SIZE(names) == 1 ? args[n] : nullptr;
    if (!dim || dim == Py_None) return new_size(as_tensor(self).sizes());
    int64_t d;
    FL_CHECK(to_int(dim, &d), ErrorKind::Type, "size(): dim must be an int, got ", Py_TYPE(dim)->tp_name);
    FL_CHECK(as_tensor(self).dim() > 0, ErrorKind::Index, "size(): dimension specified as ", d,
             " but tensor has no dimensions");
    return PyLong_FromLongLong(as_tensor(self).size(d));
  });
}
PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyObject* dim = n == 1 ? args[0] : names && PyTuple_GET_SIZE(names) == 1 ? args[n] : nullptr;
    if (!dim || dim == Py_None) {
      IntList s = as_tensor(self).strides();
      PyObject* t = PyTuple_New(s.size());
      for (size_t i = 0; i < s.size(); i++) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(s[i]));
      return t;
    }
    int64_t d;
    FL_CHECK(to_int(dim, &d), ErrorKind::Type, "stride(): dim must be an int, got ", Py_TYPE(dim)->tp_name);
    FL_CHECK(as_tensor(self).dim() > 0, ErrorKind::Index, "stride(): dimension specified as ", d,
             " but tensor has no dimensions");
    return PyLong_FromLongLong(as_tensor(self).stride(d));
  });
}
#define NOARGS(name) PyObject* name(PyObject* self, PyObject*)
NOARGS(dim) { return PyLong_FromLongLong(as_tensor(self).dim()); }
NOARGS(numel) { return PyLong_FromLongLong(as_tensor(self).numel()); }
NOARGS(item) {
  return guarded([&] { return item_object(as_tensor(self)); });
}
NOARGS(tolist) {
  return guarded([&] { return to_list(as_tensor(self)); });
}
NOARGS(data_ptr) { return PyLong_FromVoidPtr(as_tensor(self).bytes()); }
NOARGS(storage_offset) { return PyLong_FromLongLong(as_tensor(self).offset()); }
NOARGS(element_size) { return PyLong_FromLongLong(as_tensor(self).item_size()); }
NOARGS(is_floating_point) { return PyBool_FromLong(as_tensor(self).is_floating()); }
NOARGS(is_complex_method) { return PyBool_FromLong(as_tensor(self).is_complex()); }
NOARGS(is_signed) { return PyBool_FromLong(info(as_tensor(self).dtype()).is_signed); }
NOARGS(is_inference) { return PyBool_FromLong(as_tensor(self)->flags & kInference); }
NOARGS(is_conj) {
  (void)self;
  Py_RETURN_FALSE;
}

NOARGS(is_view) { return PyBool_FromLong(as_tensor(self)->base != nullptr); }
NOARGS(get_device) {
  Device d = as_tensor(self).device();
  return PyLong_FromLong(d.type == DeviceType::CPU ? -1 : d.index);
}
PyObject* is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyObject* format = n == 1 ? args[0] : names && PyTuple_GET_SIZE(names) == 1 ? args[n] : nullptr;
    if (!format) return PyBool_FromLong(as_tensor(self).is_contiguous());
    FL_CHECK(Py_TYPE(format) == memory_format_type, ErrorKind::Type,
             "is_contiguous(): argument 'memory_format' must be torch.memory_format, not ", Py_TYPE(format)->tp_name);
    return PyBool_FromLong(
        as_tensor(self).is_contiguous(static_cast<MemoryFormat>(reinterpret_cast<NameObject*>(format)->code)));
  });
}
NOARGS(untyped_storage) {
  return guarded([&] { return storage_object(as_tensor(self).storage()); });
}
PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] {
    PyObject* on = n >= 1 ? args[0] : names && PyTuple_GET_SIZE(names) == 1 ? args[n] : Py_True;
    FL_CHECK(PyBool_Check(on), ErrorKind::Type, "requires_grad_(): argument 'requires_grad' must be bool, not ",
             Py_TYPE(on)->tp_name);
    change_requires_grad(as_tensor(self), on == Py_True);
    return new_ref(self);
  });
}
NOARGS(retain_grad) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = as_tensor(self);
    FL_CHECK(t.requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
    Node* n = grad_fn(t);
    if (!n) Py_RETURN_NONE;
    AutogradMeta& m = autograd_meta(t);
    if (m.retains_grad) Py_RETURN_NONE;
    m.retains_grad = true;
    hooks_of(*n).retains.push_back({m.slot, checked(PyWeakref_NewRef(self, nullptr)).detach()});
    Py_RETURN_NONE;
  });
}
NOARGS(detach_) {
  return guarded([&] {
    const Tensor& t = as_tensor(self);
    FL_CHECK(!t->base, "Can't detach views in-place. Use detach() instead");
    clear_history(t);
    return new_ref(self);
  });
}
// The dict that register_hook puts into; for a leaf it belongs to the tensor, else to its node.
NOARGS(hook_dict) {
  return guarded([&] {
    const Tensor& t = as_tensor(self);
    FL_CHECK(t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
    if (Node* n = grad_fn(t)) {
      NodeHooks& h = hooks_of(*n);
      for (auto& [slot, dict] : h.tensor_hooks)
        if (slot == t->autograd->slot) return new_ref(dict);
      h.tensor_hooks.push_back({t->autograd->slot, checked(PyODict_New()).detach()});
      return new_ref(h.tensor_hooks.back().second);
    }
    AutogradMeta& m = autograd_meta(t);
    if (!m.hooks) m.hooks = checked(PyODict_New()).detach();
    return new_ref(m.hooks);
  });
}
NOARGS(post_hook_dict) {
  return guarded([&] {
    const Tensor& t = as_tensor(self);
    FL_CHECK(t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
    FL_CHECK(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
    AutogradMeta& m = autograd_meta(t);
    if (!m.post_accumulate_hooks) m.post_accumulate_hooks = checked(PyODict_New()).detach();
    return new_ref(m.post_accumulate_hooks);
  });
}
PyObject* make_subclass_static(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] {
    FL_CHECK(n >= 2 && PyType_Check(args[0]) && is_tensor(args[1]), ErrorKind::Type,
             "_make_subclass: expected a class and a tensor");
    PyObject* on = n > 2 ? args[2] : Py_False;
    if (names)
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); k++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "require_grad") == 0) on = args[n + k];
    return to_python(make_subclass(reinterpret_cast<PyTypeObject*>(args[0]), as_tensor(args[1]), PyObject_IsTrue(on)));
  });
}
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&] {
    FL_CHECK(PyType_Check(cls), ErrorKind::Type, "as_subclass: expected a class, got ", Py_TYPE(cls)->tp_name);
    static const Op op_alias("alias");
    Tensor t = op_alias(as_tensor(self));
    Tensor r = make_subclass(reinterpret_cast<PyTypeObject*>(cls), t, false);
    if (t.requires_grad()) {
      if (Node* n = grad_fn(t)) set_history(r, n, t->autograd->slot);
    }
    return to_python(std::move(r));
  });
}
PyObject* is_set_to(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) Py_RETURN_FALSE;
  const Tensor &a = as_tensor(self), &b = as_tensor(other);
  return PyBool_FromLong(a.storage() == b.storage() && a.offset() == b.offset() && equal(a.sizes(), b.sizes()) &&
                         equal(a.strides(), b.strides()));
}
PyObject* set_name(PyObject* self, PyObject* name) {
  return guarded([&] {
    AutogradMeta& m = autograd_meta(as_tensor(self));
    Py_XSETREF(m.name, new_ref(name));
    return new_ref(Py_None);
  });
}

#define FAST(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f))
PyMethodDef methods[] = {
    {"size", FAST(size), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"stride", FAST(stride), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"dim", dim, METH_NOARGS, nullptr},
    {"ndimension", dim, METH_NOARGS, nullptr},
    {"numel", numel, METH_NOARGS, nullptr},
    {"nelement", numel, METH_NOARGS, nullptr},
    {"item", item, METH_NOARGS, nullptr},
    {"tolist", tolist, METH_NOARGS, nullptr},
    {"data_ptr", data_ptr, METH_NOARGS, nullptr},
    {"storage_offset", storage_offset, METH_NOARGS, nullptr},
    {"element_size", element_size, METH_NOARGS, nullptr},
    {"is_floating_point", is_floating_point, METH_NOARGS, nullptr},
    {"is_complex", is_complex_method, METH_NOARGS, nullptr},
    {"is_signed", is_signed, METH_NOARGS, nullptr},
    {"is_inference", is_inference, METH_NOARGS, nullptr},
    {"is_conj", is_conj, METH_NOARGS, nullptr},
    {"is_neg", is_conj, METH_NOARGS, nullptr},
    {"is_pinned", FAST(+[](PyObject*, PyObject* const*, Py_ssize_t, PyObject*) -> PyObject* { Py_RETURN_FALSE; }),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_is_view", is_view, METH_NOARGS, nullptr},
    {"get_device", get_device, METH_NOARGS, nullptr},
    {"is_contiguous", FAST(is_contiguous), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"untyped_storage", untyped_storage, METH_NOARGS, nullptr},
    {"requires_grad_", FAST(requires_grad_), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"retain_grad", retain_grad, METH_NOARGS, nullptr},
    {"detach_", detach_, METH_NOARGS, nullptr},
    {"_hook_dict", hook_dict, METH_NOARGS, nullptr},
    {"_post_hook_dict", post_hook_dict, METH_NOARGS, nullptr},
    {"_make_subclass", FAST(make_subclass_static), METH_FASTCALL | METH_KEYWORDS | METH_STATIC, nullptr},
    {"as_subclass", as_subclass, METH_O, nullptr},
    {"is_set_to", is_set_to, METH_O, nullptr},
    {"_set_name", set_name, METH_O, nullptr},
    {}};

}  // namespace

PyGetSetDef* tensor_attributes() { return attributes; }
PyMethodDef* tensor_methods() { return methods; }

}  // namespace fl
