"""Trees of containers: the leaves and structures of PyTorch's."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from torch.utils import _pytree as theirs

from flambeau.utils import _pytree as ours

Point = namedtuple("Point", "x y")
TREE = {
    "a": [1, (2, None)],
    "b": OrderedDict(z=3, y=Point(4, 5)),
    "c": defaultdict(list, {"q": 6}),
    "d": deque([7, 8], maxlen=3),
}


def test_same_as_pytorch():
    results = []
    for tree in (ours, theirs):
        leaves, spec = tree.tree_flatten(TREE)
        results.append(
            [
                leaves,
                tree.tree_unflatten(leaves, spec),
                (spec.num_leaves, spec.num_nodes, spec.num_children),
                tree.tree_map(lambda a, b: (a, b), TREE, TREE),
                [(tree.keystr(path), leaf) for path, leaf in tree.tree_leaves_with_path(TREE)],
                tree.tree_map_only(int, lambda a: -a, TREE),
                tree.tree_any(lambda a: a == 8, TREE),
                tree.tree_leaves(TREE, is_leaf=lambda a: isinstance(a, Point)),
                spec == tree.tree_structure(TREE),
                spec == tree.tree_structure([1]),
            ]
        )
    assert results[0] == results[1]


def test_registered_types():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    ours.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda values, _: Pair(*values))
    result = ours.tree_map(lambda a: a + 1, {"p": Pair(1, 2)})
    assert (result["p"].a, result["p"].b) == (2, 3)
    with pytest.raises(ValueError, match="already"):
        ours.register_pytree_node(Pair, None, None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ours.tree_map(lambda a, b: 0, [1, 2], [1]),
        lambda: ours.tree_map(lambda a, b: 0, {"a": 1}, {"b": 1}),
        lambda: ours.tree_map(lambda a, b: 0, [1], (1,)),
        lambda: ours.tree_unflatten([1], ours.tree_structure([1, 2])),
    ],
)
def test_structures_that_differ(call):
    with pytest.raises(ValueError, match=r".+"):
        call()
