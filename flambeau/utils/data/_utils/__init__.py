"""The parts of the loader: `collate`, `fetch`, `worker` and the channel to the workers."""

# How long a worker may take to stop before it is ended by force, in seconds.
MP_STATUS_CHECK_INTERVAL = 5.0
