"""Several processes: how they are started, and how attention is shared among them.

`attention_core.distributed.sharing` is imported by its own name, because it loads torch's
tools for tensors that are split among processes.
"""

from attention_core.distributed.launch import loopback, processes, run_processes

__all__ = ["loopback", "processes", "run_processes"]
