"""Attention: scaled dot products, and the multi-head attention built on them."""

from __future__ import annotations

import math
import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op(
    "_C._attention_general(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, float? scale=None, bool enable_gqa=False) -> Tensor"
)
def _attention_general(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """`scaled_dot_product_attention` with every option; the core has the common case."""
    for name, each in (("query", query), ("key", key), ("value", value)):
        if each.dim() < 2:
            raise RuntimeError(
                f"scaled_dot_product_attention: {name} must have at least 2 dimensions, got {each.dim()}"
            )
        if each.dtype != query.dtype:
            raise RuntimeError(
                f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} and "
                f"{name}.dtype: {each.dtype} instead."
            )
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if attn_mask is not None and attn_mask.dtype not in (root.bool, query.dtype, root.float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype} and  query.dtype: {query.dtype} instead."
        )
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    if is_causal:
        attn_mask = root.ones(query.size(-2), key.size(-2), dtype=root.bool, device=query.device).tril()
    weights, value = _attention_weights(query, key, value, attn_mask, scale)
    if dropout_p > 0.0:
        weights = root.nn.functional.dropout(weights, dropout_p, True)
    return weights @ value


def _repeated_heads(query, key, value):
    heads = query.size(-3)
    for each in (key, value):
        if each.size(-3) == 0 or heads % each.size(-3) != 0:
            raise RuntimeError(
                "scaled_dot_product_attention: with enable_gqa the number of query heads must be a multiple of the "
                f"number of key and value heads, got {heads} and {each.size(-3)}"
            )
    return (
        key.repeat_interleave(heads // key.size(-3), -3),
        value.repeat_interleave(heads // value.size(-3), -3),
    )


def _attention_weights(query, key, value, mask, scale=None):
    """(weights, value with the rows that nobody may see cleared)."""
    if scale is None:
        scale = 1.0 / math.sqrt(query.size(-1)) if query.size(-1) else 1.0
    # Half of the factor on either side keeps the product within the range of half precision.
    root_scale = math.sqrt(abs(scale))
    scores = (query * root_scale) @ (key * math.copysign(root_scale, scale)).transpose(-2, -1)
    if mask is None:
        return root.nn.functional.softmax(scores, -1), value
    if mask.dtype == root.bool:
        mask = mask.unsqueeze(0) if mask.dim() == 1 else mask
        # Filled, not added: what is stored at a hidden place, NaN included, must not come through.
        scores = scores.masked_fill(~mask, float("-inf"))
        unseen = ~mask.any(-2)
        if mask.dim() <= value.dim() and bool(unseen.any()):
            value = value.masked_fill(unseen.unsqueeze(-1), 0)
    else:
        scores = scores + mask
    hopeless = scores.detach().amax(-1, True) == float("-inf") if scores.size(-1) else scores
    if scores.size(-1) and bool(hopeless.any()):
        weights = root.nn.functional.softmax(scores.masked_fill(hopeless, 0), -1)
        return weights.masked_fill(hopeless, 0), value
    return root.nn.functional.softmax(scores, -1), value


# ---- multi-head attention ----


def _none_or_dtype(input):
    if input is None:
        return None
    if isinstance(input, root.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name: str, other_type, other_name: str, target_type, check_other: bool = True):
    """`mask` as numbers of `target_type` that are added to scores: -inf where a boolean mask is True."""
    if mask is None:
        return None
    boolean = mask.dtype == root.bool
    if not boolean and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        import warnings

        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if boolean:
        return root.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return mask


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads: int) -> bool:
    """Raise AssertionError for dimensions that do not fit together; say whether the input is batched."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                f"{attn_mask.dim()}-D tensor instead"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}")
    return batched


@op(
    "nn.multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, "
    "Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, "
    "float dropout_p, Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, "
    "Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, "
    "bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, "
    "Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, "
    "bool is_causal=False) -> any"
)
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training,
    key_padding_mask,
    need_weights,
    attn_mask,
    use_separate_proj_weight,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    static_k,
    static_v,
    average_attn_weights,
    is_causal,
):
    """What `MultiheadAttention` computes, with its weights as arguments; inputs are (L, N, E) or (L, E).

    Returns the output and, if wanted, the weights (N, L, S), averaged over the heads or with them (N, heads, L, S).
    """
    linear = root.nn.functional.linear
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None and key_padding_mask is None and need_weights:
        raise RuntimeError("need attn_mask if specifying the is_causal hint.")
    if is_causal and attn_mask is None:
        raise RuntimeError("need attn_mask if specifying the is_causal hint.")
    if not batched:
        same_key, same_value = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, embed_dim = query.shape
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's {tuple(value.shape[:2])}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}")

    q, k, v = _projected(
        query,
        key,
        value,
        in_proj_weight,
        in_proj_bias,
        use_separate_proj_weight,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
    )
    extra = 0  # places appended to the keys; every mask is open there
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value")
        k = root.cat([k, bias_k.repeat(1, batch, 1)])
        v = root.cat([v, bias_v.repeat(1, batch, 1)])
        extra += 1
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")

    def heads(x):
        return x.reshape(x.size(0), batch, num_heads, -1).permute(1, 2, 0, 3)

    q = heads(q)
    k = heads(k) if static_k is None else _static("static_k", static_k, batch, num_heads, head_dim)
    v = heads(v) if static_v is None else _static("static_v", static_v, batch, num_heads, head_dim)
    if add_zero_attn:
        k = root.cat([k, k.new_zeros(batch, num_heads, 1, k.size(-1))], 2)
        v = root.cat([v, v.new_zeros(batch, num_heads, 1, v.size(-1))], 2)
        extra += 1
    mask = _merged_mask(attn_mask, key_padding_mask, batch, num_heads, length, k.size(2), extra, q.dtype)
    if need_weights or (training and dropout_p > 0.0):
        weights, v = _attention_weights(q, k, v, mask)
        if training and dropout_p > 0.0:
            weights = root.nn.functional.dropout(weights, dropout_p, True)
        output = weights @ v
    else:
        weights, output = None, root.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    output = output.permute(2, 0, 1, 3).reshape(length * batch, embed_dim)
    output = linear(output, out_proj_weight, out_proj_bias).view(length, batch, -1)
    if need_weights and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        output = output.squeeze(1)
        weights = weights.squeeze(0) if need_weights else None
    return output, weights if need_weights else None


def _projected(query, key, value, weight, bias, separate, q_weight, k_weight, v_weight):
    """The three inputs through their projections, as few matrix products as the identity of the inputs allows."""
    linear = root.nn.functional.linear
    if separate:
        if q_weight is None or k_weight is None or v_weight is None:
            raise AssertionError("use_separate_proj_weight is True but a projection weight is None")
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return linear(query, q_weight, biases[0]), linear(key, k_weight, biases[1]), linear(value, v_weight, biases[2])
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    features = query.size(-1)
    if key is value:
        if query is key:
            return linear(query, weight, bias).chunk(3, -1)
        q_part, rest = weight.split([features, 2 * features])
        q_bias, rest_bias = (None, None) if bias is None else bias.split([features, 2 * features])
        k, v = linear(key, rest, rest_bias).chunk(2, -1)
        return linear(query, q_part, q_bias), k, v
    parts = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), parts, biases, strict=True))


def _static(name, given, batch, num_heads, head_dim):
    """A ready key or value (N·heads, S, head_dim) as (N, heads, S, head_dim)."""
    if given.size(0) != batch * num_heads or given.size(2) != head_dim:
        raise AssertionError(f"{name}: expected ({batch * num_heads}, *, {head_dim}), got {tuple(given.shape)}")
    return given.view(batch, num_heads, -1, head_dim)


def _merged_mask(attn_mask, key_padding_mask, batch, num_heads, length, source, extra, dtype):
    """One mask that broadcasts to (N, heads, L, S): boolean (True: takes part) when both are, else numbers to add."""
    if attn_mask is None and key_padding_mask is None:
        return None
    own = source - extra
    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if tuple(attn_mask.shape) != (length, own):
                raise RuntimeError(
                    f"The shape of the 2D attn_mask is {tuple(attn_mask.shape)}, but should be {(length, own)}."
                )
            attn_mask = attn_mask.view(1, 1, length, own)
        else:
            if tuple(attn_mask.shape) != (batch * num_heads, length, own):
                raise RuntimeError(
                    f"The shape of the 3D attn_mask is {tuple(attn_mask.shape)}, but should be "
                    f"{(batch * num_heads, length, own)}."
                )
            attn_mask = attn_mask.view(batch, num_heads, length, own)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, own):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, own)}, but got {tuple(key_padding_mask.shape)}"
            )
        key_padding_mask = key_padding_mask.view(batch, 1, 1, own)
    masks = [mask for mask in (attn_mask, key_padding_mask) if mask is not None]
    for name, mask in (("attn_mask", attn_mask), ("key_padding_mask", key_padding_mask)):
        if mask is not None and mask.dtype != root.bool and not mask.is_floating_point():
            raise AssertionError(f"only bool and floating types of {name} are supported")
    pad = root.nn.functional.pad
    if all(mask.dtype == root.bool for mask in masks):
        hidden = masks[0] if len(masks) == 1 else masks[0] | masks[1]
        return ~(pad(hidden, (0, extra), "constant", False) if extra else hidden)
    merged = None
    for mask in masks:
        numbers = _canonical_mask(mask, "mask", None, "", dtype, False)
        merged = numbers if merged is None else merged + numbers
    return pad(merged, (0, extra), "constant", 0.0) if extra else merged
