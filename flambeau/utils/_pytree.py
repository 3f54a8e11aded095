"""Trees of Python containers: taking them apart into leaves and a structure, and putting them together again.

A node is an instance of a registered type (dicts, lists, tuples, named tuples, ordered dicts, default dicts, deques,
and what `register_pytree_node` adds); everything else is a leaf, None included.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = [
    "PyTree",
    "TreeSpec",
    "LeafSpec",
    "PyTreeSpec",
    "MappingKey",
    "SequenceKey",
    "GetAttrKey",
    "SUPPORTED_NODES",
    "register_pytree_node",
    "keystr",
    "key_get",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_all_only",
    "tree_any_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any


class MappingKey(NamedTuple):
    """A step into a mapping, in a path."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, node: Any) -> Any:
        return node[self.key]


class SequenceKey(NamedTuple):
    """A step into a sequence, in a path."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, node: Any) -> Any:
        return node[self.idx]


class GetAttrKey(NamedTuple):
    """A step to an attribute, in a path."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, node: Any) -> Any:
        return getattr(node, self.name)


class NodeDef(NamedTuple):
    """How to take a node of one type apart, into (children, context), and to build it again."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make instances of exactly ``cls`` nodes. Raises ValueError if they are already."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node: {cls} is already registered")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def is_namedtuple_class(cls: type) -> bool:
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj: object) -> bool:
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object | type) -> bool:
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    """The type under which ``tree`` is looked up: all named tuples share one entry unless registered."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """Whether ``tree`` is a leaf; ``is_leaf`` may declare nodes to be leaves too."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


class TreeSpec:
    """The structure of a tree: the type of its root, that type's context, and the structures of the children.

    >>> leaves, spec = torch.utils._pytree.tree_flatten({"a": [1, 2]})
    >>> leaves, spec.num_leaves
    ([1, 2], 2)
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves: int = sum(child.num_leaves for child in children_specs)

    @property
    def context(self) -> Any:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def is_leaf(self) -> bool:
        return self.type is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (other.type, other._context, other._children)

    def __hash__(self) -> int:
        context = tuple(self._context) if isinstance(self._context, list) else self._context
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        children = ", ".join(map(repr, self._children))
        return f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self._context}, [{children}])"

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of ``tree`` at the places of this structure's leaves. Raises ValueError where they differ."""
        parts: list[PyTree] = []
        self._flatten_up_to(tree, parts)
        return parts

    def _flatten_up_to(self, tree: PyTree, parts: list[PyTree]) -> None:
        if self.is_leaf():
            parts.append(tree)
            return
        kind = _get_node_type(tree)
        if kind is not self.type and not (kind in _MAPPINGS and self.type in _MAPPINGS):
            raise ValueError(f"tree structures differ: expected a {self.type.__name__}, got a {type(tree).__name__}")
        if kind in _MAPPINGS:
            keys = _keys_of(self.type, self._context)
            if set(keys) != set(tree):
                raise ValueError(f"tree structures differ: expected the keys {keys}, got {list(tree)}")
            children = [tree[key] for key in keys]
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(
                    f"tree structures differ: expected {self.num_children} children of a {self.type.__name__}, "
                    f"got {len(children)}"
                )
            if context != self._context and self.type is not deque:
                raise ValueError(f"tree structures differ: expected the context {self._context}, got {context}")
        for child, spec in zip(children, self._children, strict=True):
            spec._flatten_up_to(child, parts)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this structure with the given leaves. Raises ValueError for a wrong number of them."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"unflatten: {len(leaves)} leaves were given, the structure has {self.num_leaves}")
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])
        self.num_leaves = 1


_LEAF = LeafSpec()


def tree_flatten(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """(leaves from left to right, structure)."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(tree: PyTree, leaves: list[Any], is_leaf: Callable[[PyTree], bool] | None) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of structure ``treespec`` with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: treespec must be a TreeSpec, got {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> Iterator[Any]:
    """The leaves, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """A tree of ``func(leaf, *parts)``, where the parts are those of ``rests`` at the same place.

    >>> torch.utils._pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(list(map(func, *columns)))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """Call ``func`` for its effect; returns ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    deque(map(func, *columns), maxlen=0)
    return tree


def _selector(selection: Any) -> Callable[[Any], bool]:
    is_types = isinstance(selection, (type, tuple)) or not callable(selection)
    return (lambda x: isinstance(x, selection)) if is_types else selection


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """`tree_map` over the leaves of the given types, or for which the function is true; others stay."""
    applies = _selector(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if applies(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    applies = _selector(type_or_types_or_pred)
    return tree_map_(lambda x: func(x) if applies(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    """([(path, leaf)], structure); a path is a tuple of keys."""
    return list(_leaves_with_path((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[tuple[tuple, Any]]:
    return list(_leaves_with_path((), tree, is_leaf))


def _leaves_with_path(path: tuple, tree: PyTree, is_leaf: Callable | None) -> Iterator[tuple[tuple, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(f"the type {node.type} was registered without flatten_with_keys_fn, so it has no paths")
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _leaves_with_path((*path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """`tree_map` with ``func(path, leaf, *parts)``."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[p for p, _ in pairs], [x for _, x in pairs], *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(list(map(func, *columns)))


def keystr(kp: tuple) -> str:
    """A path as text, such as ``['a'][0]``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: tuple) -> Any:
    """What a path leads to in ``obj``."""
    for key in kp:
        obj = key.get(obj)
    return obj


_MAPPINGS = (dict, OrderedDict, defaultdict)


def _keys_of(kind: type, context: Any) -> list:
    return context[1] if kind is defaultdict else context


def _with_mapping_keys(flatten: Callable) -> Callable:
    def flatten_with_keys(tree: Any) -> tuple[list, Any]:
        values, context = flatten(tree)
        return [(MappingKey(k), v) for k, v in zip(tree, values, strict=True)], context

    return flatten_with_keys


def _with_indices(flatten: Callable) -> Callable:
    def flatten_with_keys(tree: Any) -> tuple[list, Any]:
        values, context = flatten(tree)
        return [(SequenceKey(i), v) for i, v in enumerate(values)], context

    return flatten_with_keys


def _dict_flatten(tree: Any) -> tuple[list, list]:
    return list(tree.values()), list(tree.keys())


def _dict_unflatten(values: Iterable[Any], context: list) -> dict:
    return dict(zip(context, values, strict=True))


def _flatten_defaultdict(tree: defaultdict) -> tuple[list, list]:
    return list(tree.values()), [tree.default_factory, list(tree.keys())]


def _flatten_namedtuple(tree: Any) -> tuple[list, type]:
    return list(tree), type(tree)


def _flatten_namedtuple_with_keys(tree: Any) -> tuple[list, type]:
    return [(GetAttrKey(name), value) for name, value in zip(tree._fields, tree, strict=True)], type(tree)


def _register_builtins() -> None:
    def plain(kind: type) -> None:
        def flatten(tree: Any) -> tuple[list, None]:
            return list(tree), None

        register_pytree_node(kind, flatten, lambda values, _: kind(values), flatten_with_keys_fn=_with_indices(flatten))

    plain(tuple)
    plain(list)
    for kind in (dict, OrderedDict):
        register_pytree_node(
            kind,
            _dict_flatten,
            lambda values, keys, kind=kind: kind(zip(keys, values, strict=True)),
            flatten_with_keys_fn=_with_mapping_keys(_dict_flatten),
        )
    register_pytree_node(
        defaultdict,
        _flatten_defaultdict,
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
        flatten_with_keys_fn=_with_mapping_keys(_flatten_defaultdict),
    )
    register_pytree_node(
        namedtuple,
        _flatten_namedtuple,
        lambda values, kind: kind(*values),
        flatten_with_keys_fn=_flatten_namedtuple_with_keys,
    )

    def flatten_deque(tree: deque) -> tuple[list, int | None]:
        return list(tree), tree.maxlen

    register_pytree_node(
        deque,
        flatten_deque,
        lambda values, maxlen: deque(values, maxlen=maxlen),
        flatten_with_keys_fn=_with_indices(flatten_deque),
    )


_register_builtins()
