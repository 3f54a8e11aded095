// Operators. Plain tensors and numbers go straight to the entry; everything else through the general call.
#include "dispatch/dispatch.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

struct Operator {
  const char* name;
  const char* entry_id;
  OpGroup* group = nullptr;
  const Entry* entry = nullptr;
  void find() {
    if (group) return;
    group = find_group(name);
    FL_CHECK(group, "no op is called ", name);
    entry = entry_id ? find_entry(entry_id) : nullptr;
  }
};

inline bool plain(PyObject* o) { return Py_TYPE(o) == tensor_type; }

// As a value, if it is an exact tensor, float or int.
inline bool quick_value(PyObject* o, Value& v) {
  if (plain(o)) {
    v.tag = Tag::Tensor;
    v.tensor = reinterpret_cast<TensorObject*>(o);
    return true;
  }
  if (PyFloat_CheckExact(o)) {
    v.tag = Tag::Float;
    v.d = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (PyLong_CheckExact(o)) {
    int overflow;
    v.tag = Tag::Int;
    v.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow;
  }
  return false;
}

bool operand(PyObject* o) { return is_tensor(o) || is_number(o) || has_torch_function(o); }

PyObject* binary(Operator& op, Operator* reflected, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    op.find();
    if (op.entry && !thread_state.function_modes) {
      Value args[4];
      if (plain(a) && quick_value(a, args[0]) && quick_value(b, args[1])) {
        for (size_t i = 2; i < op.entry->schema.args.size(); i++) args[i] = op.entry->schema.args[i].default_value;
        return result_object(*op.entry, call(*op.entry, args));
      }
    }
    if (!operand(a) || !operand(b)) Py_RETURN_NOTIMPLEMENTED;
    if (!is_tensor(a) && is_number(a)) {
      // number op tensor
      if (reflected) {
        reflected->find();
        PyObject* args[2] = {b, a};
        return call_op(reflected->group, Form::Method, args, 2, nullptr);
      }
      Scalar s;
      to_scalar(a, &s);
      Tensor t = scalar_tensor(s, s.natural_dtype(), true);
      PyObject* args[2] = {t.object(), b};
      return call_op(op.group, Form::Method, args, 2, nullptr);
    }
    PyObject* args[2] = {a, b};
    return call_op(op.group, Form::Method, args, 2, nullptr);
  });
}

PyObject* in_place(Operator& op, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    op.find();
    if (!operand(b)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* args[2] = {a, b};
    return call_op(op.group, Form::InPlaceMethod, args, 2, nullptr);
  });
}

PyObject* unary(Operator& op, PyObject* a) noexcept {
  return guarded([&] {
    op.find();
    return call_op(op.group, Form::Method, &a, 1, nullptr);
  });
}

Operator add_op{"add", "add"}, sub_op{"sub", "sub"}, mul_op{"mul", "mul"}, div_op{"div", "div"},
    rsub_op{"rsub", nullptr}, floor_op{"floor_divide", nullptr}, mod_op{"remainder", nullptr}, pow_op{"pow", nullptr},
    matmul_op{"matmul", nullptr}, and_op{"bitwise_and", nullptr}, or_op{"bitwise_or", nullptr},
    xor_op{"bitwise_xor", nullptr}, left_op{"bitwise_left_shift", nullptr}, right_op{"bitwise_right_shift", nullptr},
    neg_op{"neg", nullptr}, abs_op{"abs", nullptr}, invert_op{"bitwise_not", nullptr}, positive_op{"positive", nullptr},
    lt_op{"lt", "lt"}, le_op{"le", "le"}, gt_op{"gt", "gt"}, ge_op{"ge", "ge"}, eq_op{"eq", "eq"}, ne_op{"ne", "ne"};

#define BINARY(fn, op) \
  PyObject* fn(PyObject* a, PyObject* b) { return binary(op, nullptr, a, b); }
#define IN_PLACE(fn, op) \
  PyObject* fn(PyObject* a, PyObject* b) { return in_place(op, a, b); }
// clang-format off
BINARY(nb_mul, mul_op)
BINARY(nb_div, div_op)
BINARY(nb_floor, floor_op)
BINARY(nb_mod, mod_op)
BINARY(nb_matmul, matmul_op)
BINARY(nb_and, and_op)
BINARY(nb_or, or_op)
BINARY(nb_xor, xor_op)
BINARY(nb_left, left_op)
BINARY(nb_right, right_op)
// clang-format on
PyObject* nb_add(PyObject* a, PyObject* b) { return binary(add_op, &add_op, a, b); }
PyObject* nb_sub(PyObject* a, PyObject* b) { return binary(sub_op, &rsub_op, a, b); }
PyObject* nb_pow(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow: a modulus is not supported for tensors");
    return nullptr;
  }
  return binary(pow_op, nullptr, a, b);
}
// clang-format off
IN_PLACE(nb_iadd, add_op)
IN_PLACE(nb_isub, sub_op)
IN_PLACE(nb_imul, mul_op)
IN_PLACE(nb_idiv, div_op)
IN_PLACE(nb_ifloor, floor_op)
IN_PLACE(nb_imod, mod_op)
IN_PLACE(nb_iand, and_op)
IN_PLACE(nb_ior, or_op)
IN_PLACE(nb_ixor, xor_op)
IN_PLACE(nb_ileft, left_op)
IN_PLACE(nb_iright, right_op)
// clang-format on
PyObject* nb_ipow(PyObject* a, PyObject* b, PyObject*) { return in_place(pow_op, a, b); }
PyObject* nb_neg(PyObject* a) { return unary(neg_op, a); }
PyObject* nb_abs(PyObject* a) { return unary(abs_op, a); }
PyObject* nb_invert(PyObject* a) { return unary(invert_op, a); }
PyObject* nb_positive(PyObject* a) { return unary(positive_op, a); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  Operator* ops[] = {&lt_op, &le_op, &eq_op, &ne_op, &gt_op, &ge_op};
  return binary(*ops[op], nullptr, a, b);
}

Scalar single_value(PyObject* o, const char* what) {
  const Tensor& t = as_tensor(o);
  FL_CHECK(t.numel() == 1, what, ": a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  FL_CHECK(!t.is_meta(), what, ": Tensor.item() cannot be called on meta tensors");
  Tensor plain = alias(t);
  Scalar s;
  to_scalar(plain.object(), &s);
  return s;
}

int nb_bool(PyObject* o) {
  return guarded_int([&] {
    const Tensor& t = as_tensor(o);
    FL_CHECK(t.numel() == 1, "Boolean value of Tensor with ", t.numel() == 0 ? "no values" : "more than one value",
             " is ambiguous");
    return single_value(o, "bool").to_bool() ? 1 : 0;
  });
}
PyObject* nb_int(PyObject* o) {
  return guarded([&]() -> PyObject* {
    Scalar s = single_value(o, "int");
    FL_CHECK(!s.is_complex(), "int: a complex value can't be converted to int without losing its imaginary part");
    if (s.is_floating()) return PyLong_FromDouble(s.d);
    if (as_tensor(o).dtype() == DType::UInt64) return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(s.i));
    return PyLong_FromLongLong(s.i);
  });
}
PyObject* nb_float(PyObject* o) {
  return guarded([&] {
    Scalar s = single_value(o, "float");
    FL_CHECK(!s.is_complex() || s.c[1] == 0, "float: value cannot be converted to type double without overflow");
    return PyFloat_FromDouble(s.to_double());
  });
}
PyObject* nb_index(PyObject* o) {
  return guarded([&]() -> PyObject* {
    FL_CHECK(as_tensor(o).numel() == 1 && is_integral(as_tensor(o).dtype(), true), ErrorKind::Type,
             "only integer tensors of a single element can be converted to an index");
    return nb_int(o);
  });
}

}  // namespace

void add_number_slots(std::vector<PyType_Slot>& slots) {
#define SLOT(id, f) slots.push_back({id, reinterpret_cast<void*>(f)})
  SLOT(Py_nb_add, nb_add);
  SLOT(Py_nb_subtract, nb_sub);
  SLOT(Py_nb_multiply, nb_mul);
  SLOT(Py_nb_true_divide, nb_div);
  SLOT(Py_nb_floor_divide, nb_floor);
  SLOT(Py_nb_remainder, nb_mod);
  SLOT(Py_nb_power, nb_pow);
  SLOT(Py_nb_matrix_multiply, nb_matmul);
  SLOT(Py_nb_and, nb_and);
  SLOT(Py_nb_or, nb_or);
  SLOT(Py_nb_xor, nb_xor);
  SLOT(Py_nb_lshift, nb_left);
  SLOT(Py_nb_rshift, nb_right);
  SLOT(Py_nb_inplace_add, nb_iadd);
  SLOT(Py_nb_inplace_subtract, nb_isub);
  SLOT(Py_nb_inplace_multiply, nb_imul);
  SLOT(Py_nb_inplace_true_divide, nb_idiv);
  SLOT(Py_nb_inplace_floor_divide, nb_ifloor);
  SLOT(Py_nb_inplace_remainder, nb_imod);
  SLOT(Py_nb_inplace_power, nb_ipow);
  SLOT(Py_nb_inplace_and, nb_iand);
  SLOT(Py_nb_inplace_or, nb_ior);
  SLOT(Py_nb_inplace_xor, nb_ixor);
  SLOT(Py_nb_inplace_lshift, nb_ileft);
  SLOT(Py_nb_inplace_rshift, nb_iright);
  SLOT(Py_nb_negative, nb_neg);
  SLOT(Py_nb_positive, nb_positive);
  SLOT(Py_nb_absolute, nb_abs);
  SLOT(Py_nb_invert, nb_invert);
  SLOT(Py_nb_bool, nb_bool);
  SLOT(Py_nb_int, nb_int);
  SLOT(Py_nb_float, nb_float);
  SLOT(Py_nb_index, nb_index);
  SLOT(Py_tp_richcompare, compare);
#undef SLOT
}

}  // namespace fl
