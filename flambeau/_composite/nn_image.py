"""Rearrangements of images: pixel and channel shuffles, sliding blocks, affine grids."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("nn.pixel_shuffle(Tensor input, int upscale_factor) -> Tensor")
def pixel_shuffle(input, upscale_factor):
    """(*, C·r², H, W) -> (*, C, H·r, W·r)."""
    if input.dim() < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got {input.dim()}")
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    *lead, channels, height, width = input.shape
    r = upscale_factor
    if channels % (r * r) != 0:
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    moved = split.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    # A copy even where nothing moves: the result is never a view.
    return moved.clone(memory_format=root.contiguous_format).view(*lead, channels // (r * r), height * r, width * r)


@op("nn.pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor")
def pixel_unshuffle(input, downscale_factor):
    """(*, C, H·r, W·r) -> (*, C·r², H, W)."""
    if input.dim() < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got {input.dim()}")
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    *lead, channels, height, width = input.shape
    r = downscale_factor
    if height % r != 0 or width % r != 0:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but {height} x {width} is "
            f"not divisible by {r}"
        )
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    moved = split.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return moved.clone(memory_format=root.contiguous_format).view(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input, groups):
    """Interleaves the channels of `groups` groups: (N, C, *) -> (N, C, *)."""
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *rest = input.shape
    if channels % groups != 0:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = input.reshape(batch, groups, channels // groups, *rest)
    return split.transpose(1, 2).reshape(input.shape)


for _name in ("channel_shuffle", "native_channel_shuffle"):
    op(f"nn.{_name}(Tensor input, int groups) -> Tensor")(channel_shuffle)


@op("nn.unfold(Tensor input, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1) -> Tensor")
def unfold(input, kernel_size, dilation, padding, stride):
    """The sliding blocks of (N, C, H, W) as columns (N, C·∏kernel_size, L); without N likewise."""
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    images = input if input.dim() == 4 else input.unsqueeze(0)
    height, width = images.shape[2:]
    index, count = _block_index(height, width, kernel_size, dilation, padding, stride, images.device)
    padded = root.nn.functional.pad(images, (padding[1], padding[1], padding[0], padding[0]), "constant", 0.0)
    batch, channels = images.shape[:2]
    blocks = padded.flatten(2).index_select(2, index)
    blocks = blocks.view(batch, channels * kernel_size[0] * kernel_size[1], count)
    return blocks if input.dim() == 4 else blocks.squeeze(0)


@op(
    "nn.fold(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "
    "int[2] stride=1) -> Tensor"
)
def fold(input, output_size, kernel_size, dilation, padding, stride):
    """Adds up blocks (N, C·∏kernel_size, L) into (N, C, *output_size), where they overlap; without N likewise."""
    if input.dim() not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    columns = input if input.dim() == 3 else input.unsqueeze(0)
    height, width = output_size
    if height <= 0 or width <= 0:
        raise RuntimeError(f"fold: output_size must be positive, got {tuple(output_size)}")
    index, count = _block_index(height, width, kernel_size, dilation, padding, stride, columns.device)
    area = kernel_size[0] * kernel_size[1]
    batch = columns.size(0)
    if columns.size(1) % area != 0:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={columns.size(1)} and kernel_size={tuple(kernel_size)}."
        )
    if columns.size(2) != count:
        raise RuntimeError(
            f"Given output_size={tuple(output_size)}, kernel_size={tuple(kernel_size)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, stride={tuple(stride)}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {count}, but got input.size(2)={columns.size(2)}."
        )
    channels = columns.size(1) // area
    rows, across = height + 2 * padding[0], width + 2 * padding[1]
    flat = columns.reshape(batch, channels, area * count)
    image = flat.new_zeros(batch, channels, rows * across).index_add(2, index, flat).view(batch, channels, rows, across)
    image = image[:, :, padding[0] : rows - padding[0], padding[1] : across - padding[1]].contiguous()
    return image if input.dim() == 3 else image.squeeze(0)


def _block_index(height, width, kernel_size, dilation, padding, stride, device):
    """(where each element of each block lies in the padded image, row by row; the number of blocks)."""
    for name, values, least in (
        ("kernel_size", kernel_size, 1),
        ("dilation", dilation, 1),
        ("padding", padding, 0),
        ("stride", stride, 1),
    ):
        if any(value < least for value in values):
            raise RuntimeError(
                f"{name} should be {'greater than zero' if least else 'non-negative'}, but got {tuple(values)}"
            )
    places = []
    for d, size in enumerate((height, width)):
        span = dilation[d] * (kernel_size[d] - 1) + 1
        blocks = (size + 2 * padding[d] - span) // stride[d] + 1
        if size + 2 * padding[d] < span:
            raise RuntimeError(
                f"Given an image of spatial size ({height}, {width}), kernel_size={tuple(kernel_size)}, "
                f"dilation={tuple(dilation)}, padding={tuple(padding)}, there is no room for a sliding block"
            )
        within = root.arange(kernel_size[d], device=device) * dilation[d]
        starts = root.arange(blocks, device=device) * stride[d]
        places.append(within.unsqueeze(1) + starts)
    across = width + 2 * padding[1]
    (kh, lh), (kw, lw) = places[0].shape, places[1].shape
    index = places[0].view(kh, 1, lh, 1) * across + places[1].view(1, kw, 1, lw)
    return index.reshape(-1), lh * lw


@op("nn.affine_grid(Tensor theta, any size, bool? align_corners=None) -> Tensor")
def affine_grid(theta, size, align_corners):
    """The sampling grid of affine maps (N, 2, 3) for outputs (N, C, H, W), or (N, 3, 4) for (N, C, D, H, W)."""
    if align_corners is None:
        import warnings

        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=2,
        )
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = tuple(size)
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.dim() != 3 or theta.shape[-2:] != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got "
            f"{tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    spatial = size[2:]
    options = {"dtype": theta.dtype, "device": theta.device}
    coordinates = []
    # The last dimension is x, the first coordinate.
    for d in range(dims - 1, -1, -1):
        count = spatial[d]
        if count > 1:
            along = root.linspace(-1, 1, count, **options)
            along = along if align_corners else along * ((count - 1) / count)
        else:
            along = root.zeros(1, **options)
        coordinates.append(along.view([-1 if e == d else 1 for e in range(dims)]).expand(spatial))
    coordinates.append(root.ones(spatial, **options))
    base = root.stack(coordinates, -1).view(1, -1, dims + 1)
    return (base @ theta.transpose(1, 2)).view(theta.size(0), *spatial, dims)
