#include "python/tensor_type.h"

#include <structmember.h>

#include "autograd/node.h"

namespace fl {
namespace {

const char* package_name = "flambeau";

int traverse(PyObject* o, visitproc visit, void* arg) {
  TensorObject* t = reinterpret_cast<TensorObject*>(o);
  Py_VISIT(t->dict);
  Py_VISIT(reinterpret_cast<PyObject*>(t->base));
  if (AutogradMeta* m = t->autograd) {
    Py_VISIT(m->grad.object());
    Py_VISIT(reinterpret_cast<PyObject*>(m->grad_fn));
    Py_VISIT(m->hooks);
    Py_VISIT(m->post_accumulate_hooks);
  }
  if (Py_TYPE(o) != tensor_type) Py_VISIT(Py_TYPE(o));
  return 0;
}

int clear(PyObject* o) {
  TensorObject* t = reinterpret_cast<TensorObject*>(o);
  Py_CLEAR(t->dict);
  if (AutogradMeta* m = t->autograd) {
    m->grad = Tensor();
    Py_CLEAR(m->grad_fn);
    Py_CLEAR(m->hooks);
    Py_CLEAR(m->post_accumulate_hooks);
  }
  TensorObject* base = std::exchange(t->base, nullptr);
  Py_XDECREF(reinterpret_cast<PyObject*>(base));
  return 0;
}

void dealloc(PyObject* o) {
  TensorObject* t = reinterpret_cast<TensorObject*>(o);
  if (Py_TYPE(o)->tp_finalize && Py_TYPE(o) != tensor_type && PyObject_CallFinalizerFromDealloc(o)) return;
  if (PyObject_GC_IsTracked(o)) PyObject_GC_UnTrack(o);
  if (t->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(t->dict);
  if (t->autograd) delete std::exchange(t->autograd, nullptr);
  if (t->base) {
    TensorObject* base = std::exchange(t->base, nullptr);
    Py_DECREF(reinterpret_cast<PyObject*>(base));
  }
  release_tensor_memory(t);
}

// Attributes make a tensor something that can be part of a cycle.
int set_attribute(PyObject* o, PyObject* name, PyObject* value) {
  int r = PyObject_GenericSetAttr(o, name, value);
  if (!r && reinterpret_cast<TensorObject*>(o)->dict && !PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
  return r;
}

PyObject* repr(PyObject* o) {
  return guarded([&] { return PyObject_CallOneArg(package_function("_tensor_base", "tensor_repr"), o); });
}
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    PyRef all = checked(PyTuple_Pack(3, reinterpret_cast<PyObject*>(type), args, kwargs ? kwargs : Py_None));
    return PyObject_Call(package_function("_tensor_base", "legacy_new"), all.get(), nullptr);
  });
}
int initialise(PyObject*, PyObject*, PyObject*) { return 0; }
Py_hash_t hash(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o) >> 4); }

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
                         {}};

}  // namespace

PyObject* package_function(const char* module, const char* name) {
  static auto* cache = new std::vector<std::pair<std::string, PyObject*>>;
  std::string key = std::string(module) + "." + name;
  for (auto& [k, v] : *cache)
    if (k == key) return v;
  PyRef m = checked(PyImport_ImportModule((std::string(package_name) + "." + module).c_str()));
  PyObject* f = PyObject_GetAttrString(m.get(), name);
  if (!f) throw PythonError();
  cache->push_back({key, f});
  return f;
}

void set_override_flag(TensorObject* t) {
  PyTypeObject* type = Py_TYPE(reinterpret_cast<PyObject*>(t));
  t->flags &= ~kOverride;
  if (type == tensor_type) return;
  PyRef method = PyRef::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__torch_function__"));
  if (!method)
    PyErr_Clear();
  else if (method.get() != disabled_torch_function)
    t->flags |= kOverride;
}

Tensor make_subclass(PyTypeObject* type, const Tensor& t, bool requires_grad) {
  FL_CHECK(PyType_IsSubtype(type, tensor_type), ErrorKind::Type, "make_subclass: ", type->tp_name,
           " is not a subclass of Tensor");
  if (type == tensor_type) {
    Tensor r = alias(t);
    if (requires_grad) set_requires_grad(r, true);
    return r;
  }
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonError();
  // tp_alloc zeroes the object; hand it the geometry of an alias.
  TensorObject* n = reinterpret_cast<TensorObject*>(o);
  retain(t.storage());
  n->storage = t.storage();
  n->dtype = t.dtype();
  Tensor r = Tensor::take(n);
  set_geometry(r, t.sizes(), t.strides(), t.offset());
  n->flags |= t->flags & (kInference | kOwnVersion | kMeta);
  set_override_flag(n);
  if (requires_grad) {
    FL_CHECK(is_differentiable(t.dtype()),
             "only Tensors of floating point and complex dtype can require gradients, got ", info(t.dtype()).name);
    set_requires_grad(r, true);
  }
  return r;
}

void init_tensor_type(PyObject* module, const char* package) {
  package_name = package;
  static std::string name = std::string(package) + ".Tensor";
  std::vector<PyType_Slot> slots = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                    {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
                                    {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                    {Py_tp_new, reinterpret_cast<void*>(construct)},
                                    {Py_tp_init, reinterpret_cast<void*>(initialise)},
                                    {Py_tp_hash, reinterpret_cast<void*>(hash)},
                                    {Py_tp_members, members},
                                    {Py_tp_getset, tensor_attributes()},
                                    {Py_tp_methods, tensor_methods()},
                                    {Py_tp_free, reinterpret_cast<void*>(PyObject_GC_Del)}};
  add_number_slots(slots);
  add_indexing_slots(slots);
  add_buffer_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec{name.c_str(), sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                   slots.data()};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw PythonError();
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);
  PyModule_AddObject(module, "Tensor", type);
}

}  // namespace fl
