"""Spans of requests for OpenTelemetry, only when its address is set. A span holds ids and numbers, never content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import Scope


class TracedRequest(Protocol):
    """What is known of a request when it has ended."""

    def attributes(self) -> dict[str, Any]: ...


class Tracing:
    """Sends spans to a collector, in the background."""

    def __init__(self, address: str) -> None:
        name = Resource({"service.name": "gieok"}).merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=name)
        self._provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{address.rstrip('/')}/v1/traces"))
        )
        self._tracer = self._provider.get_tracer("gieok.endpoint")

    @contextmanager
    def span(self, scope: Scope, noted: TracedRequest) -> Iterator[None]:
        """Spans a request, as a part of the client's trace where it names one."""
        outer = TraceContextTextMapPropagator().extract(Headers(scope=scope))
        span = self._tracer.start_span(str(scope["method"]), outer, SpanKind.SERVER)
        try:
            yield
        finally:
            attributes = noted.attributes()
            span.update_name(f"{scope['method']} {attributes['http.route']}")
            span.set_attributes(attributes)
            if attributes["http.response.status_code"] >= 500:
                span.set_status(Status(StatusCode.ERROR))
            span.end()

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()
