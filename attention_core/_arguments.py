"""Values of options on a command line, for argparse: what is wrong becomes a usage error."""

import argparse

import torch

#: The largest seed that torch takes on all devices, and far more than any other count.
LARGEST = 2**63 - 1


def count(text: str, minimum: int = 1, maximum: int = LARGEST) -> int:
    """A whole number within limits."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be an integer, got {text!r}") from None
    if number < minimum:
        raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {number}")
    if number > maximum:
        raise argparse.ArgumentTypeError(f"must be at most {maximum}, got {number}")
    return number


def share(text: str) -> float:
    """A number between 0 and 1, both included."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, got {text}")
    return number


def device_name(text: str) -> str:
    """The name of a device on which this machine can compute."""
    try:
        torch.zeros(1, device=text).item()  # a device without numbers, meta, fails here
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise argparse.ArgumentTypeError(
            f"must be a device of this machine, cpu for example, got {text!r}: {reason}"
        ) from None
    return text
