#include "autograd/copy_slices.h"

#include "dispatch/dispatch.h"

namespace fl {
namespace {

struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t) : sizes(t.sizes()), strides(t.strides()), offset(t.offset()) {}
};

struct CopySlicesBody : NodeBody {
  Geometry base, view;
  DType dtype;
  Node* inner;  // counted
  CopySlicesBody(const Tensor& b, const Tensor& v, Node* n) : base(b), view(v), dtype(b.dtype()), inner(n) {
    Py_INCREF(reinterpret_cast<PyObject*>(n));
  }
  ~CopySlicesBody() override { Py_XDECREF(reinterpret_cast<PyObject*>(inner)); }

  TensorArray apply(Node& node, TensorArray grads) override {
    static const Op as_strided("as_strided"), clone("clone"), copy("copy_"), zero("zero_");
    TensorArray results(node.edges.size());
    if (!grads[0]) return results;
    FL_CHECK(inner,
             "Trying to backward through the graph a second time: the node of an in-place op on a view was freed; pass "
             "retain_graph=True");
    Tensor whole = empty_strided(base.sizes, base.strides, dtype, grads[0].device());
    copy.run(whole, grads[0]);
    Tensor part = as_strided(whole, view.sizes, view.strides, view.offset - base.offset);
    TensorArray arriving(1);
    arriving[0] = clone(part);
    TensorArray out = inner->body->apply(*inner, std::move(arriving));
    if (out.size() && out[0])
      copy.run(part, out[0]);
    else
      zero.run(part);
    results[0] = std::move(whole);
    for (size_t i = 1; i < out.size() && i < results.size(); i++) results[i] = std::move(out[i]);
    return results;
  }
  void release_saved() override {
    if (inner && inner->body) inner->body->release_saved();
  }
  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(reinterpret_cast<PyObject*>(inner));
    return 0;
  }
};

}  // namespace

void rebase_view(const Tensor& view, Node* node) {
  const Tensor base = Tensor::share(view->base);
  static PyTypeObject* type = make_node_type("CopySlices");
  OwnedEdge old = gradient_edge(base);
  Node* whole = new_node(type, "CopySlices", new CopySlicesBody(base, view, node));
  add_edge(whole, old.edge);
  for (size_t i = 1; i < node->edges.size(); i++) add_edge(whole, node->edges[i]);
  // The inner op's first gradient goes into the whole's; the edge stays non-null so that the op computes it.
  Edge& first = node->edges[0];
  if (!first.node && old.edge.node) {
    first = old.edge;
    Py_INCREF(reinterpret_cast<PyObject*>(first.node));
  }
  whole->outputs.push_back({base.dtype(), Dims(base.sizes()), base.device()});
  set_history(base, whole, 0);
  Py_DECREF(reinterpret_cast<PyObject*>(whole));
  view->view_version = view.storage()->version - 1;  // stale: rebuilt from the base on the next look
  view->flags |= kRequiresGrad;
  grad_fn(view);
}

}  // namespace fl
