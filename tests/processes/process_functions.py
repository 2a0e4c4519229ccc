"""Functions that test_distributed.py runs in other processes, which import them from here."""

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def every_way(attend, x, q, k, v, mask, grouped, wide):
    """Run all three ways in one group; also return the addresses on which this process listens."""
    # Only here: the other functions should start fast.
    from attention_core.distributed.sharing import by_heads, by_keys, by_sentences

    shares = {
        "heads": by_heads(attend, x),
        "grouped heads": by_heads(grouped, wide),
        "sentences": by_sentences(attend, x),
        "unweighted": by_sentences(attend, x, False),
        "keys": by_keys(q, k, v),
        "masked keys": by_keys(q, k, v, mask),
        "one mask for all keys": by_keys(q, k, v, mask[..., :1]),
    }
    return shares, listening(os.getpid())


def listening(pid: int) -> list[str]:
    """Local addresses of the listening TCP sockets of a process, as Linux prints them."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(entry.readlink()))
        except OSError:  # closed meanwhile
            continue
    found = []
    for table in ("tcp", "tcp6"):
        path = Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append(fields[1].split(":")[0])
    return found


def told(text):
    """Print to both streams; return rank, default dtype, threads and gloo's interface."""
    print(text)
    print(text, file=sys.stderr)
    interface = os.environ["GLOO_SOCKET_IFNAME"]
    return dist.get_rank(), torch.tensor(1.0).dtype, torch.get_num_threads(), interface


def fail_in_one(rank):
    """One process fails while the others wait for it."""
    if dist.get_rank() == rank:
        raise ValueError("the keys are lost")
    dist.barrier()


def die_in_one(rank):
    if dist.get_rank() == rank:
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def wait_forever(folder):
    """One process sleeps, the others wait in a collective."""
    Path(folder, f"ready-{dist.get_rank()}").touch()
    if dist.get_rank() == 0:
        time.sleep(600)
    dist.barrier()
