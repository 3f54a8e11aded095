"""The streams and events of `torch.cuda`."""

from . import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
