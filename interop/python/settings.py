"""The variables of docs/worker-contract.md, checked."""

import dataclasses
import re
from collections.abc import Callable

# The limits of hopgap worker's flags of the same names.
MAX_STREAMS = 100
MAX_OUTSTANDING = 1_000_000

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


class WrongSetting(ValueError):
    """Names the variable, its value and what is allowed."""


@dataclasses.dataclass(frozen=True)
class Settings:
    subscription: str  # full name
    next_topic: str  # full name; empty at the last hop
    work_s: float
    streams: int
    max_outstanding: int
    await_publish: bool
    arm: str
    hop: str
    otlp_protocol: str  # grpc or http/protobuf; empty: spans go nowhere


def read(environment: Callable[[str], str]) -> Settings:
    subscription = environment("HOPGAP_SUBSCRIPTION")
    next_topic = environment("HOPGAP_NEXT_TOPIC")
    _check_name("HOPGAP_SUBSCRIPTION", subscription, "subscriptions")
    if next_topic:
        _check_name("HOPGAP_NEXT_TOPIC", next_topic, "topics")
    publish = environment("HOPGAP_PUBLISH") or "await"
    if publish not in ("await", "fire"):
        raise WrongSetting(f"HOPGAP_PUBLISH: {publish!r} is neither await nor fire")
    return Settings(
        subscription=subscription,
        next_topic=next_topic,
        work_s=_duration_s("HOPGAP_WORK", environment("HOPGAP_WORK") or "200ms"),
        streams=_count("HOPGAP_STREAMS", environment("HOPGAP_STREAMS") or "4", MAX_STREAMS),
        max_outstanding=_count(
            "HOPGAP_MAX_OUTSTANDING_MESSAGES", environment("HOPGAP_MAX_OUTSTANDING_MESSAGES") or "1000", MAX_OUTSTANDING
        ),
        await_publish=publish == "await",
        arm=environment("HOPGAP_ARM"),
        hop=environment("HOPGAP_HOP"),
        otlp_protocol=otlp_protocol(environment),
    )


def otlp_protocol(environment: Callable[[str], str]) -> str:
    """How spans leave: the traces' own variables win over the general ones, as the exporter specification has it."""
    if not environment("OTEL_EXPORTER_OTLP_ENDPOINT") and not environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        return ""
    variable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
    if not environment(variable):
        variable = "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = environment(variable) or "grpc"
    if protocol not in ("grpc", "http/protobuf"):
        raise WrongSetting(f"{variable}: {protocol!r} is neither grpc nor http/protobuf")
    return protocol


def next_draw(draw: str) -> str:
    """Turns "H.S" into "(H+1).S"; anything else stays as it is."""
    hop, dot, slot = draw.partition(".")
    if not dot or not re.fullmatch("[0-9]{1,9}", hop):
        return draw
    return f"{int(hop) + 1}.{slot}"


def _check_name(variable: str, name: str, kind: str) -> None:
    if not re.fullmatch(f"projects/[^/]+/{kind}/[^/]+", name):
        raise WrongSetting(f"{variable}: {name!r} is not projects/PROJECT/{kind}/ID")


def _duration_s(variable: str, text: str) -> float:
    if text == "0":
        return 0
    parts = re.findall(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise WrongSetting(f"{variable}: {text!r} is not 0 or a number with ns, us, ms, s, m or h")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _count(variable: str, text: str, limit: int) -> int:
    if not re.fullmatch("[0-9]+", text) or not 1 <= int(text) <= limit:
        raise WrongSetting(f"{variable}: {text!r} is not a whole number in [1, {limit}]")
    return int(text)
