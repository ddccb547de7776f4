"""Addresses as they stand in settings, headers and URLs."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address


def is_loopback_address(address: str) -> bool:
    """Returns whether only this machine reaches the address."""
    if address.lower() == "localhost":
        return True
    parsed = parse_ip_address(address)
    return parsed is not None and parsed.is_loopback


def parse_ip_address(host: str) -> IPv4Address | IPv6Address | None:
    """Returns the address, an IPv4 address inside IPv6 as itself; None for a name."""
    try:
        parsed = ip_address(host.partition("%")[0].removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
