"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


def _window(name, window, win_length, n_fft, dtype, device):
    """The window in the middle of n_fft points; ones by default."""
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft={n_fft}, got win_length={win_length}")
    if window is None:
        window = root.ones(win_length, dtype=dtype, device=device)
    elif window.dim() != 1 or window.size(0) != win_length:
        raise RuntimeError(f"{name}: expected a 1D window of win_length={win_length}, got shape {list(window.shape)}")
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    return root.cat([window.new_zeros(left), window, window.new_zeros(n_fft - win_length - left)])


def _sided(name, onesided, any_complex):
    if onesided is None:
        return not any_complex
    if onesided and any_complex:
        raise RuntimeError(f"{name}: Cannot have onesided output if window or input is complex")
    return onesided


@op(
    "stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,"
    " str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None,"
    " bool? align_to_window=None) -> Tensor"
)
def stft(
    input,
    n_fft,
    hop_length,
    win_length,
    window,
    center,
    pad_mode,
    normalized,
    onesided,
    return_complex,
    align_to_window,
):
    """The Fourier transforms (..., frequency, frame) of windows of n_fft points at steps of hop_length (n_fft // 4).

    With `center` the signal, (time) or (batch, time), is padded so that frame t has its middle at t * hop_length.

    >>> torch.stft(torch.zeros(32), 8, return_complex=True).shape
    torch.Size([5, 17])
    """
    name = "stft"
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    any_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not any_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
        return_complex = True
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"{name}: expected a tensor of floating point or complex values, got {input.dtype}")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"{name}: expected a 1D or 2D tensor, got {input.dim()}D")
    if center and align_to_window is not None:
        raise RuntimeError(f"{name}: align_to_window should only be set when center = False.")
    signal = input if input.dim() == 2 else input.unsqueeze(0)
    if center and n_fft > 0:
        pad = n_fft // 2
        signal = root.nn.functional.pad(signal.unsqueeze(0), (pad, pad), pad_mode).squeeze(0)
    if align_to_window and length < n_fft:
        left = (n_fft - length) // 2
        signal = root.nn.functional.pad(signal, (left, n_fft - length - left))
    if not 0 < n_fft <= signal.size(-1):
        raise RuntimeError(f"{name}: expected 0 < n_fft <= {signal.size(-1)}, got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, got hop_length={hop}")
    window = _window(name, window, length, n_fft, input.dtype, input.device)
    onesided = _sided(name, onesided, any_complex)
    frames = signal.unfold(-1, n_fft, hop) * window
    transform = root.fft.rfft if onesided else root.fft.fft
    result = transform(frames, norm="ortho" if normalized else None).transpose(-1, -2)
    if input.dim() == 1:
        result = result.squeeze(0)
    return result if return_complex else root.view_as_real(result)


@op(
    "istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,"
    " bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"
)
def istft(input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    """The signal whose stft with the same settings is closest to `input`; `length` cuts it or pads it with zeros.

    Raises RuntimeError where the overlapping windows leave a gap.
    """
    name = "istft"
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(f"{name} requires a complex-valued input tensor matching the output from stft")
    if input.dim() not in (2, 3) or input.numel() == 0:
        raise RuntimeError(
            f"{name}: expected a tensor with 2 or 3 dimensions and elements, got shape {list(input.shape)}"
        )
    onesided = input.size(-2) != n_fft if onesided is None else onesided
    if return_complex and onesided:
        raise RuntimeError(f"{name}: return_complex=True needs all frequencies, and onesided input has half of them")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError(f"{name}: Complex windows are incompatible with return_complex=False")
    bins = n_fft // 2 + 1 if onesided else n_fft
    if input.size(-2) != bins:
        raise RuntimeError(f"{name}: expected {bins} frequencies for n_fft={n_fft}, got {input.size(-2)}")
    if not 0 < hop <= width:
        raise RuntimeError(f"{name}: expected 0 < hop_length <= win_length={width}, got hop_length={hop}")
    window = _window(name, window, width, n_fft, input.dtype.to_real(), input.device)
    spectra = (input if input.dim() == 3 else input.unsqueeze(0)).transpose(-1, -2)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = root.fft.ifft(spectra, norm=norm)
    else:
        frames = root.fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    total = n_fft + hop * (spectra.size(1) - 1)
    signal = _overlap_add(frames * window, total, hop)
    weight = _overlap_add((window * window).expand(1, spectra.size(1), n_fft), total, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    signal, weight = signal[:, start:end], weight[:, start:end]
    if weight.numel() and not weight.abs().min() > 1e-11:
        raise RuntimeError(f"{name}: window overlap add min: 1 - the windows leave a gap in the signal")
    signal = signal / weight
    if length is not None and length > signal.size(-1):
        missing = signal.new_zeros(signal.size(0), length - signal.size(-1))
        signal = root.cat([signal, missing], -1)
    return signal if input.dim() == 3 else signal.squeeze(0)


def _overlap_add(frames, total, hop):
    """The sum (batch, total) of frames (batch, frame, point) laid down at steps of hop."""
    batch, count, points = frames.shape
    places = root.arange(0, count * hop, hop).unsqueeze(-1) + root.arange(points)
    signal = frames.new_zeros(batch, total)
    return signal.index_add(-1, places.flatten(), frames.reshape(batch, count * points))
