"""The parts of `save` and `load`: the zip archive, the pickling of tensors, devices, and the formats of old files."""
