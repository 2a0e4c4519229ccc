"""Types for argparse: parse the value of an option, or report a usage error."""

import argparse

import torch

#: A seed up to this size works on every device of torch; no other count comes near it.
LARGEST = 2**63 - 1


def count(text: str, minimum: int = 1, maximum: int = LARGEST) -> int:
    """Parse an integer between ``minimum`` and ``maximum``."""
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
    """Parse a number between 0 and 1, both included."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, got {text}")
    return number


def device_name(text: str) -> str:
    """Parse the name of a device on which this machine can compute."""
    try:
        torch.zeros(1, device=text).item()  # fails on meta, which stores no numbers
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise argparse.ArgumentTypeError(
            f"must be a device of this machine, cpu for example, got {text!r}: {reason}"
        ) from None
    return text
