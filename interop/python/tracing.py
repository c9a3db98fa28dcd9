"""The global tracer provider of a program here."""

from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def start(protocol: str) -> Callable[[], None]:
    """Every trace sampled, spans batched to the endpoint of the OTEL_ variables.

    With no protocol they go nowhere, but messages carry their trace all the same. The result sends what is queued.
    """
    provider = TracerProvider(sampler=sampling.ALWAYS_ON)
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    elif protocol == "http/protobuf":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
